package job

import (
	"math"
	"time"
)

// Explained says more about a waiting job than the reasons why it waits.
type Explained struct {
	Ahead  []Ahead // the first jobs that go before the job and that it may not overtake, in order
	More   int     // the number of such jobs that Ahead leaves out
	Sooner []Sooner
	Tried  int           // number of changes that were tried for Sooner
	Took   time.Duration // the time that these tries took
}

// Ahead is a waiting job that goes before the explained job.
type Ahead struct {
	Job      ID         `json:"job"`
	Called   string     `json:"called"` // "12", or "7_3" for a task
	User     string     `json:"user"`
	Name     string     `json:"name"`
	GPUMilli int        `json:"gpu_milli"`
	Cause    AheadCause `json:"cause"`
	Its      Merits     `json:"its"`
	Own      Merits     `json:"own"`             // the merits of the explained job
	Kept     bool       `json:"kept,omitempty"`  // GPUs are kept for the job ahead
	Again    bool       `json:"again,omitempty"` // the job ahead has run before
}

// AheadCause is the first criterion of the queue's order in which two jobs differ.
type AheadCause string

// The causes.
const (
	AheadClass   AheadCause = "class"   // the class of the priority
	AheadNumber  AheadCause = "number"  // the number of the priority
	AheadOwed    AheadCause = "owed"    // other jobs were preempted for the job ahead
	AheadGuarded AheadCause = "guarded" // the job ahead has waited so long that it goes first
	AheadScore   AheadCause = "score"   // a value computed from share, wait and length
	AheadLonger  AheadCause = "longer"  // the job ahead has waited longer
	AheadBatch   AheadCause = "batch"   // both are of one batch, and the job ahead is larger
)

// Merits are the values that rank a job.
type Merits struct {
	Priority Priority `json:"priority"`
	Share    float64  `json:"share,omitempty"`            // part that its user and groups have used of their due; 1: all
	Waited   Span     `json:"waited_seconds"`             // the wait that counts
	Length   Span     `json:"ranks_as_seconds,omitempty"` // the expected run time
	Score    float64  `json:"score,omitempty"`
}

// Rounded returns m as precisely as people need: in hundredths and seconds.
func (m Merits) Rounded() Merits {
	hundredths := func(x float64) float64 { return math.Round(x*100) / 100 }
	m.Share, m.Score = hundredths(m.Share), hundredths(m.Score)
	m.Waited, m.Length = m.Waited.Floor(), m.Length.Floor()
	return m
}

// Sooner is a change that would make a waiting job start sooner.
type Sooner struct {
	Change Change
	Any    AnyOf // the conditions on GPUs that would also be dropped
	Now    bool  // the job would start at once
	Start  ExpectedStart
}

// AnyOf says which conditions on a job's GPUs would be dropped.
type AnyOf struct {
	GPUs bool // conditions on the GPUs' indexes
	Type bool
	Load bool // limits on the GPUs' load and used memory
}
