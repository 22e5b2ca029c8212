package job

import "time"

// Course is what becomes of each GPU in the time to come, if nothing new is submitted and every
// job runs for as long as expected.
type Course struct {
	At, Until time.Time // from when to when it is told
	GPUs      []GPUCourse
	Waiting   int  // jobs in the queue
	Closed    bool // no job starts until an administrator lets them
}

// GPUCourse is what becomes of one GPU.
type GPUCourse struct {
	Index int
	UUID  string
	Name  string
	State GPUState
	Stays []Stay // by their beginnings
}

// StayKind is what a GPU is for over some time.
type StayKind string

// The kinds.
const (
	StayRunning  StayKind = "running"  // a job has it
	StayPlanned  StayKind = "planned"  // a job that waits is expected to have it
	StayReserved StayKind = "reserved" // an administrator keeps it for some users
	StayDrained  StayKind = "drained"  // an administrator keeps jobs from it
	StayUnknown  StayKind = "unknown"  // something is wrong with it, or somebody else uses it: nobody can say for how long
)

// Stay is some time of a GPU and what it is for.
type Stay struct {
	Kind   StayKind
	Job    ID     // 0: none
	Called string // what people call the job; of a task to come, its array
	User   string
	Name   string
	Milli  int // of the GPU

	From  time.Time
	Until time.Time // zero: nobody can say
	Late  time.Time // over by then in four cases of five, or where Until is zero at the latest; zero: nobody can say

	Detail Message // of what is no job's
}
