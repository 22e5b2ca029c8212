package sched

import "time"

// Policy is how a site orders and places jobs. The zero value is strict priority and submission
// order without reservations.
type Policy struct {
	FIFO             bool          // order by priority and submission, instead of fair share and response ratio
	HalfLife         time.Duration // half-life of past use in fair share; 0: use does not count
	GuardAfter       time.Duration // a job that waited longer precedes others of its class and priority number; 0: never
	GuardPercent     int           // percentage of the machine's time that guarded jobs may take
	ReservationDepth int           // number of jobs that get reservations in a pass; 0: none
	Patience         int           // run times that a reserved job waits until its reservation ignores late ends; 0: none
	Slice            time.Duration // minimum time that a preemptible job runs before it may be stopped
	MaxLoadPercent   int           // a GPU with a higher load takes no job; 0 or 100: any
	MaxUsedPercent   int           // a GPU with more of its memory in use takes no job; 0 or 100: any
	MinFreeBytes     int64         // a GPU with less free memory takes no job
}

// DefaultPatience is the default of Policy.Patience. contrib/sim has the measurements.
const DefaultPatience = 2
