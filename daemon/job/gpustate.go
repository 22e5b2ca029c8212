package job

// GPUState is the state of a GPU for people.
type GPUState string

// The states.
const (
	GPUFree     GPUState = "free"
	GPUShared   GPUState = "shared"   // part of it is free
	GPUBusy     GPUState = "busy"     // no part of it is
	GPUPaused   GPUState = "paused"   // by an administrator
	GPUDraining GPUState = "draining" // to be taken out of service, and jobs have it still
	GPUDrained  GPUState = "drained"
	GPUCleaning GPUState = "cleaning" // a job left it and the check is not done
	GPUSuspect  GPUState = "suspect"  // a job left it and something of it stayed, or jobs fail on it
	GPUSick     GPUState = "sick"     // after an error it needs a reset, or a look
	GPULost     GPUState = "lost"     // the driver says that it is gone or broken
	GPUUnknown  GPUState = "unknown"  // no fresh word from the driver
)

// GPUStates lists them all.
func GPUStates() []GPUState {
	return []GPUState{
		GPUFree, GPUShared, GPUBusy, GPUPaused, GPUDraining, GPUDrained, GPUCleaning, GPUSuspect, GPUSick, GPULost,
		GPUUnknown,
	}
}

// Broken reports whether something is wrong with the GPU, so that no job is placed
// on it until that is mended.
func (s GPUState) Broken() bool {
	return s == GPUSuspect || s == GPUSick || s == GPULost || s == GPUUnknown
}
