package sched

import "time"

// Policy is how a site orders and places jobs. The zero value is strict priority and submission
// order without reservations.
type Policy struct {
	FIFO             bool          // order by priority and submission, instead of fair share and response ratio
	HalfLife         time.Duration // half-life of past use in fair share; 0: use does not count
	GuardAfter       time.Duration // a job that waited longer goes first in its class and number; 0: never
	GuardPercent     int           // part of the machine's time for such jobs
	ReservationDepth int           // number of jobs that get reservations in a pass; 0: none
	Patience         int           // reservations expect late ends until their job waited this many run times; 0: never
	Slice            time.Duration // minimum time for which a preemptible job runs before it is stopped
	MaxLoadPercent   int           // a GPU with a higher load takes no job; 0 or 100: any
	MaxUsedPercent   int           // a GPU with more of its memory in use takes no job; 0 or 100: any
	MinFreeBytes     int64         // a GPU with less free memory takes no job
}

// DefaultPatience is the default of Policy.Patience (measured: contrib/sim).
const DefaultPatience = 2
