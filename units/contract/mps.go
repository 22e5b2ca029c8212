package contract

// MPSPrefix begins the name of a unit that serves MPS to a user's jobs on one GPU. The uid and the
// GPU's index follow: "gpusched-mps-1001-0.service".
const MPSPrefix = "gpusched-mps-"

// MPSControl is NVIDIA's program that serves MPS.
const MPSControl = "nvidia-cuda-mps-control"

// MPSPrograms lists the paths where systemd looks for MPSControl.
func MPSPrograms() []string {
	return []string{"/usr/bin/" + MPSControl, "/usr/local/bin/" + MPSControl, "/usr/sbin/" + MPSControl, "/usr/local/sbin/" + MPSControl}
}

// NoMPS says what is missing without the program, and MPSPackages where it is.
const (
	NoMPS       = MPSControl + " is not installed on this machine, and --mps needs it"
	MPSPackages = "it is in the package nvidia-cuda-mps of Debian, and in nvidia-compute-utils-VERSION of Ubuntu"
)

// MPSDir contains, for each such unit, a directory with the pipes of MPS, "1001-0". It is below
// /run. MPSPipe is the pipe through which programs find MPS.
const (
	MPSDir  = "gpusched-mps"
	MPSPipe = "control"
)

// AwaitFlag makes gpusched-job wait until MPS has made its pipe, whose path follows. systemd runs it
// after the start of MPS, and starts the jobs afterwards.
const AwaitFlag = "--await"
