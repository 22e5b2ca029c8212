package job

import "slices"

// State is a job's place in its life cycle.
type State string

// The states. A job is in the state "ending" from its command's end until all its processes are
// gone.
const (
	Queued         State = "queued"
	Spawned        State = "spawned" // for an array: each task has become a job, and some have not ended
	Starting       State = "starting"
	Running        State = "running"
	Ending         State = "ending"
	Completed      State = "completed"
	Failed         State = "failed"
	Cancelled      State = "cancelled"
	TimedOut       State = "timed-out"
	OutOfMemory    State = "out-of-memory"
	GPUOutOfMemory State = "gpu-out-of-memory" // it was stopped because it used GPU memory that another job was promised
	Lost           State = "lost"              // its unit is gone, and nobody knows how the job ended
)

var states = []State{
	Queued, Spawned, Starting, Running, Ending, Completed, Failed, Cancelled, TimedOut, OutOfMemory, GPUOutOfMemory, Lost,
}

// States returns all states in the order of a job's life.
func States() []State { return slices.Clone(states) }

// EndStates returns the states of jobs that have ended for good.
func EndStates() []State {
	return slices.DeleteFunc(States(), func(s State) bool { return !s.Terminal() })
}

// transitions is the whole life cycle. A job in the state "starting" or "ending" can start again
// only after it is queued again.
var transitions = map[State][]State{
	Queued:   {Starting, Spawned, Cancelled},
	Spawned:  {Completed, Failed, Cancelled},
	Starting: {Running, Ending, Queued},
	Running:  {Ending},
	Ending:   {Completed, Failed, Cancelled, TimedOut, OutOfMemory, GPUOutOfMemory, Lost, Queued},
}

// Next reports whether a job may change from s to t in one step.
func (s State) Next(t State) bool { return slices.Contains(transitions[s], t) }

// Terminal reports whether a job in state s has ended for good. An invalid state is neither
// terminal nor live.
func (s State) Terminal() bool { return s.Valid() && len(transitions[s]) == 0 }

// Live reports whether a job in state s has, or may have, a unit.
func (s State) Live() bool { return s == Starting || s == Running || s == Ending }

// ListRank gives the order of states in a listing: 0 for jobs that have a unit or have left the
// queue, 1 for waiting jobs, 2 for jobs that have ended.
func (s State) ListRank() int {
	switch {
	case s.Terminal():
		return 2
	case s == Queued:
		return 1
	}
	return 0
}

// Valid reports whether s is one of the states.
func (s State) Valid() bool { return slices.Contains(states, s) }
