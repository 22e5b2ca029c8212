package contract

// The numbers of NVIDIA's device nodes. NVIDIA always has this major number. The kernel assigns the
// major numbers of nvidia-uvm and nvidia-caps, so these are read with stat.
const (
	NvidiaMajor  = 195
	CtlMinor     = 255 // /dev/nvidiactl
	ModesetMinor = 254 // /dev/nvidia-modeset
	ProbeMinor   = 250 // ProbePath
)

// CapPrefix is the beginning of the names of the nodes that open slices.
const CapPrefix = "/dev/nvidia-caps/nvidia-cap"

// ProbePath is a device node that no job may open. The launcher tries to open it, to prove that the
// device filter is active.
const ProbePath = "/dev/gpusched-probe"
