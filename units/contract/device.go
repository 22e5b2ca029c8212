package contract

// The numbers of NVIDIA's nodes. Only this major number is fixed; those of
// nvidia-uvm and nvidia-caps are given out by the kernel and taken from stat.
const (
	NvidiaMajor  = 195
	CtlMinor     = 255 // /dev/nvidiactl
	ModesetMinor = 254 // /dev/nvidia-modeset
	ProbeMinor   = 250 // ProbePath
)

// ProbePath is a device node that no job may ever open: the launcher proves by
// it that the device filter is active.
const ProbePath = "/dev/gpusched-probe"
