package sched

import "time"

// Policy says how a site orders and places jobs. The zero value orders them by strict priority and
// submission, without reservations.
type Policy struct {
	FIFO             bool          // order by priority and submission alone, without fair share and response ratio
	HalfLife         time.Duration // half-life of past use in fair share; 0: use does not count
	GuardAfter       time.Duration // a job that has waited longer precedes others of its class and number; 0: never
	GuardPercent     int           // how many percent of the machine's time guarded jobs may take
	ReservationDepth int           // how many jobs get reservations in a pass; 0: none
	Patience         int           // after a wait of so many run times, a reserved start ignores late ends; 0: always
	Slice            time.Duration // the minimum time for which a preemptible job runs before it may be stopped
	RestartCost      time.Duration // what it costs a job to go on after a stop
	MaxLoadPercent   int           // a GPU with a higher load takes no job; 0 or 100: any
	MaxUsedPercent   int           // a GPU with more of its memory in use takes no job; 0 or 100: any
	MinFreeBytes     int64         // a GPU with less free memory takes no job
}

// DefaultPatience is the default of Policy.Patience. contrib/sim has the measurements on which it
// is based.
const DefaultPatience = 2
