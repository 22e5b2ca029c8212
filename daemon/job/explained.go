package job

import (
	"math"
	"time"
)

// Explained says more about a waiting job than its reasons.
type Explained struct {
	Ahead  []Ahead // the first jobs that go before it and that it may not pass, in order
	More   int     // the number of such jobs that Ahead leaves out
	Sooner []Sooner
	Tried  int           // the number of changes that were tried for Sooner
	Took   time.Duration // the time that trying them took
}

// Ahead is a waiting job that goes before the job asked about.
type Ahead struct {
	Job      ID         `json:"job"`
	Called   string     `json:"called"` // "12", or "7_3" for a task
	User     string     `json:"user"`
	Name     string     `json:"name"`
	GPUMilli int        `json:"gpu_milli"`
	Cause    AheadCause `json:"cause"`
	Its      Merits     `json:"its"`
	Own      Merits     `json:"own"`             // those of the job asked about
	Kept     bool       `json:"kept,omitempty"`  // GPUs are kept for it
	Again    bool       `json:"again,omitempty"` // it has run before, and waits again
}

// AheadCause is the first criterion of the order in which two jobs differ.
type AheadCause string

// The causes.
const (
	AheadClass   AheadCause = "class"   // of its priority
	AheadNumber  AheadCause = "number"  // of its priority
	AheadOwed    AheadCause = "owed"    // jobs were preempted for it
	AheadGuarded AheadCause = "guarded" // it has waited so long that it goes first
	AheadScore   AheadCause = "score"   // of share, wait and length
	AheadLonger  AheadCause = "longer"  // it has waited longer
	AheadBatch   AheadCause = "batch"   // both are of one batch, in which larger jobs go first
)

// Merits are the values that rank a job.
type Merits struct {
	Priority Priority `json:"priority"`
	Share    float64  `json:"share,omitempty"`            // of use by its user and groups; 1: all that is due
	Waited   Span     `json:"waited_seconds"`             // the wait that counts
	Length   Span     `json:"ranks_as_seconds,omitempty"` // the expected run time
	Score    float64  `json:"score,omitempty"`
}

// Rounded returns m with the precision that people read: hundredths and seconds.
func (m Merits) Rounded() Merits {
	hundredths := func(x float64) float64 { return math.Round(x*100) / 100 }
	m.Share, m.Score = hundredths(m.Share), hundredths(m.Score)
	m.Waited, m.Length = m.Waited.Floor(), m.Length.Floor()
	return m
}

// Sooner is a change of a waiting job that would make it start sooner.
type Sooner struct {
	Change Change
	Any    AnyOf // choices of GPUs that would be left to the scheduler as well
	Now    bool  // it would start at once
	Start  ExpectedStart
}

// AnyOf lists the conditions on a job's GPUs that would be dropped.
type AnyOf struct {
	GPUs bool // their indexes
	Type bool
	Load bool // the bounds of their load and used memory
}
