package store

import "github.com/gpusched/gpusched/daemon/job"

// Filter selects ended jobs. Zero fields select everything.
type Filter struct {
	UID   *int
	State job.State // one terminal state
	Name  string    // exactly this name
	Array job.ID    // tasks of this array
	Limit int       // at most so many; 0 or less: all
}

// Status is what a dependency asks of another job.
type Status struct {
	State job.State
	// Started reports whether the job, or for an array any of its tasks, has
	// ever run.
	Started bool
}
