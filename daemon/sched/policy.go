package sched

import "time"

// Policy is how a site wants jobs ordered and placed. The zero value is strict
// priority and submission order with nothing kept for anybody.
type Policy struct {
	FIFO             bool          // priority and then submission, instead of fair share and response ratio
	HalfLife         time.Duration // of what fair share remembers; 0: usage does not count
	GuardAfter       time.Duration // a job that waited longer goes first in its class and number; 0: never
	GuardPercent     int           // of the machine's time that such jobs may take before the others' turn comes again
	ReservationDepth int           // how many jobs that do not fit have GPUs kept for them; 0: none
	Patience         int           // a job is passed late until it waited for so many times its run time; 0: never
	Slice            time.Duration // a preemptible job runs at least so long before it is stopped
	MaxLoadPercent   int           // a GPU busier than this takes no job; 0 or 100: any
	MaxUsedPercent   int           // a GPU with more of its memory in use takes no job; 0 or 100: any
	MinFreeBytes     int64         // a GPU with less free memory takes no job
}

// DefaultPatience is the product's Policy.Patience (measured: contrib/sim).
const DefaultPatience = 2
