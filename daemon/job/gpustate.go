package job

// GPUState is the state of a GPU, as people see it.
type GPUState string

// The states.
const (
	GPUFree     GPUState = "free"
	GPUShared   GPUState = "shared"   // part of it is free
	GPUBusy     GPUState = "busy"     // no part of it is free
	GPUPaused   GPUState = "paused"   // by an administrator
	GPUDraining GPUState = "draining" // to be taken out of service; jobs still run on it
	GPUDrained  GPUState = "drained"
	GPUCleaning GPUState = "cleaning" // a job left it and the check is not done
	GPUSuspect  GPUState = "suspect"  // a job left something behind, or jobs fail on it
	GPUSick     GPUState = "sick"     // after an error it needs a reset or an inspection
	GPULost     GPUState = "lost"     // the driver says that it is gone or broken
	GPUUnknown  GPUState = "unknown"  // the driver has not answered lately
)

func GPUStates() []GPUState {
	return []GPUState{
		GPUFree, GPUShared, GPUBusy, GPUPaused, GPUDraining, GPUDrained, GPUCleaning, GPUSuspect, GPUSick, GPULost,
		GPUUnknown,
	}
}

// Broken reports whether something is wrong with the GPU that keeps jobs off it until it is mended.
func (s GPUState) Broken() bool {
	return s == GPUSuspect || s == GPUSick || s == GPULost || s == GPUUnknown
}
