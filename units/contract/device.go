package contract

// The numbers of NVIDIA's device nodes. Only this major number is fixed; the kernel assigns those
// of nvidia-uvm and nvidia-caps, which are read with stat.
const (
	NvidiaMajor  = 195
	CtlMinor     = 255 // /dev/nvidiactl
	ModesetMinor = 254 // /dev/nvidia-modeset
	ProbeMinor   = 250 // ProbePath
)

// ProbePath is a device node that no job may open. The launcher tries to, to prove that the device
// filter is active.
const ProbePath = "/dev/gpusched-probe"
