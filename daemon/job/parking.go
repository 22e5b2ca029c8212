package job

import (
	"cmp"
	"time"
)

// ParkState says how far the driver is with a job's GPUs.
type ParkState string

// The states. Each is on record before what it names begins, so after a crash it is done again:
// parking and unparking a process twice is the same as once.
const (
	NotParked ParkState = ""
	ParkTakes ParkState = "parking"   // the driver copies the GPUs' memory to the host; the job still holds its GPUs
	IsParked  ParkState = "parked"    // the copy is in the job's host memory, and the job holds no GPU
	ParkGives ParkState = "unparking" // the job holds its GPUs again, and the driver copies their memory back
)

// Parking says whether the current or last attempt is parked: the driver has copied its GPU memory
// to the host and let go of its GPUs. A job is suspended from the moment it is being parked until it
// has its GPU memory again (Suspension), so its time limit stands still. It keeps its unit, its host
// memory, its CPUs and its place in quotas and lanes.
type Parking struct {
	Park       ParkState       `json:"park,omitempty"`
	ParkedFor  ID              `json:"parked_for,omitempty"`  // the job that needed its GPUs; 0: none
	ParkWants  bool            `json:"park_wants,omitempty"`  // while it is parked: it waits for its GPUs
	ParkAwake  bool            `json:"park_awake,omitempty"`  // its processes are not frozen while it is parked
	ParkBytes  int64           `json:"park_bytes,omitempty"`  // host memory for the copies, in addition to its own
	ParkProcs  []ParkedProcess `json:"park_procs,omitempty"`  // its processes that use GPUs
	ParkedOn   []Allocation    `json:"parked_on,omitempty"`   // while it moves: the GPUs on which it was parked; else nil
	Unmovable  bool            `json:"unmovable,omitempty"`   // it returns to its own GPUs: the driver refused others, or a process uses one
	Unparkable Message         `json:"unparkable,omitzero"`   // why the driver could not park it; zero: nobody tried, or it could
	ParkedTime time.Duration   `json:"parked_time,omitempty"` // how long it was parked up to its last return
	ReturnedAt time.Time       `json:"returned_at,omitzero"`  // its last return after the scheduler had parked it
}

// A parked job whose processes are not frozen works again if they take more than WakeCPU of CPU time
// within WakeSpan.
const (
	WakeCPU  = 200 * time.Millisecond
	WakeSpan = 5 * time.Second
)

// ParkedProcess is a process that used a GPU when its job was parked.
type ParkedProcess struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // as in /proc/PID/stat; another process with the same pid has another
}

// HeldGPUs returns the parts of GPUs that a job with a unit holds: those of its attempt, unless it is
// parked.
func (j *Job) HeldGPUs() []Allocation {
	if j.Attempt == nil || j.Park == IsParked {
		return nil
	}
	return j.Attempt.GPUs
}

// Returns reports whether a parked job waits for its GPUs.
func (j *Job) Returns() bool {
	return j.State == Running && j.Stop == "" && j.Park == IsParked && j.ParkWants
}

// ParkedSoFar returns the total time for which the attempt has been parked.
func (j *Job) ParkedSoFar(now time.Time) time.Duration {
	if j.Park == NotParked || j.Park == ParkTakes || !j.IsSuspended() {
		return j.ParkedTime
	}
	return j.ParkedTime + max(0, now.Sub(j.SuspendedAt))
}

// IsAfter reports whether this is a later state of an attempt than another one, by its suspensions. The
// suspended time only grows, and a parked job goes through its states in one order.
func (j *Job) IsAfter(o *Job) bool {
	return cmp.Or(cmp.Compare(j.SuspendedTime, o.SuspendedTime), cmp.Compare(j.parkStep(), o.parkStep())) > 0
}

// parkStep numbers the states of a suspension in their order.
func (j *Job) parkStep() int {
	step := map[ParkState]int{ParkTakes: 1, IsParked: 2, ParkGives: 4}[j.Park]
	if j.IsSuspended() {
		step++
	}
	if j.ParkWants {
		step++
	}
	if j.Park != NotParked && j.Unmovable { // it is parked again, because the driver refused other GPUs
		step += 3
	}
	return step
}

// EndParking ends the parking of a job, and the suspension that belongs to it. If the scheduler had
// parked the job, its time slice begins anew. Otherwise its owner could avoid preemption by parking it
// in time.
func (j *Job) EndParking(now time.Time) {
	ended := Parking{Unparkable: j.Unparkable, Unmovable: j.Unmovable, ReturnedAt: j.ReturnedAt}
	ended.ParkedTime = j.ParkedSoFar(now)
	if j.Park == ParkGives && (j.ParkedFor != 0 || j.ParkAwake) {
		ended.ReturnedAt = now
	}
	j.Parking, j.Owed = ended, false
	j.Resume(now)
}
