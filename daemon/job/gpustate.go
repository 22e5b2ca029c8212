package job

// GPUState is the state of a GPU, as people see it.
type GPUState string

// The states.
const (
	GPUFree     GPUState = "free"
	GPUShared   GPUState = "shared"   // a part of it is free
	GPUBusy     GPUState = "busy"     // no part of it is free
	GPUPaused   GPUState = "paused"   // an administrator paused it
	GPUDraining GPUState = "draining" // it is to be taken out of service; jobs still run on it
	GPUDrained  GPUState = "drained"
	GPUCleaning GPUState = "cleaning" // a job left it, and the check is not done yet
	GPUSuspect  GPUState = "suspect"  // a job left something behind, or jobs fail on it
	GPUSick     GPUState = "sick"     // it needs a reset or an inspection after an error
	GPULost     GPUState = "lost"     // the driver says that it is gone or broken
	GPUUnknown  GPUState = "unknown"  // the driver has not answered recently
)

func GPUStates() []GPUState {
	return []GPUState{
		GPUFree, GPUShared, GPUBusy, GPUPaused, GPUDraining, GPUDrained, GPUCleaning, GPUSuspect, GPUSick, GPULost,
		GPUUnknown,
	}
}

// Broken reports whether a GPU in this state takes no jobs until somebody repairs it.
func (s GPUState) Broken() bool {
	return s == GPUSuspect || s == GPUSick || s == GPULost || s == GPUUnknown
}
