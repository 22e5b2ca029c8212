package job

import "slices"

// State is where a job is in its life.
type State string

// The states. Ending covers the time between the command's end and the moment
// when everything it started is gone.
const (
	Queued         State = "queued"
	Spawned        State = "spawned" // an array: every task has become a job, and not all have ended
	Starting       State = "starting"
	Running        State = "running"
	Ending         State = "ending"
	Completed      State = "completed"
	Failed         State = "failed"
	Cancelled      State = "cancelled"
	TimedOut       State = "timed-out"
	OutOfMemory    State = "out-of-memory"
	GPUOutOfMemory State = "gpu-out-of-memory" // stopped for using GPU memory that another job was promised
	Lost           State = "lost"              // its unit is gone and nobody can say how it ended
)

// states lists all states in the order of a job's life.
var states = []State{
	Queued, Spawned, Starting, Running, Ending, Completed, Failed, Cancelled, TimedOut, OutOfMemory, GPUOutOfMemory, Lost,
}

// States returns all states in the order of a job's life.
func States() []State { return slices.Clone(states) }

// EndStates returns the states of jobs that have ended for good.
func EndStates() []State {
	return slices.DeleteFunc(States(), func(s State) bool { return !s.Terminal() })
}

// transitions is the whole life cycle. Starting may be entered again from
// ending or starting only through queued.
var transitions = map[State][]State{
	Queued:   {Starting, Spawned, Cancelled},
	Spawned:  {Completed, Failed, Cancelled},
	Starting: {Running, Ending, Queued},
	Running:  {Ending},
	Ending:   {Completed, Failed, Cancelled, TimedOut, OutOfMemory, GPUOutOfMemory, Lost, Queued},
}

// Next reports whether a job may go from s to t in one step.
func (s State) Next(t State) bool { return slices.Contains(transitions[s], t) }

// Terminal reports whether a job in s has ended for good. A word that is no state
// is neither terminal nor live.
func (s State) Terminal() bool { return s.Valid() && len(transitions[s]) == 0 }

// Live reports whether a job in s has, or may have, a unit.
func (s State) Live() bool { return s == Starting || s == Running || s == Ending }

// ListRank orders the jobs of a listing: 0 for those that have a unit or are in no queue any more, 1 for those that
// wait, 2 for those that have ended.
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
