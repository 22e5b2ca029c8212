package job

import (
	"math"
	"time"
)

// Explained is what there is to say of a waiting job besides its reasons.
type Explained struct {
	Ahead  []Ahead // the first that go before it and that it may not pass, in order
	More   int     // others of these
	Sooner []Sooner
	Tried  int           // how many changes were tried for that
	Took   time.Duration // to try them
}

// Ahead is a waiting job that goes before another one.
type Ahead struct {
	Job      ID         `json:"job"`
	Called   string     `json:"called"` // "12", or "7_3" for a task
	User     string     `json:"user"`
	Name     string     `json:"name"`
	GPUMilli int        `json:"gpu_milli"`
	Cause    AheadCause `json:"cause"`
	Its      Merits     `json:"its"`
	Own      Merits     `json:"own"`             // the same of the job that was asked about
	Kept     bool       `json:"kept,omitempty"`  // GPUs are kept for it
	Again    bool       `json:"again,omitempty"` // it has been started before, and waits again
}

// AheadCause is the first thing in which the order tells two jobs apart.
type AheadCause string

// The causes.
const (
	AheadClass   AheadCause = "class"   // of its priority
	AheadNumber  AheadCause = "number"  // of its priority
	AheadOwed    AheadCause = "owed"    // others were stopped for it
	AheadGuarded AheadCause = "guarded" // it has waited so long that it goes first
	AheadScore   AheadCause = "score"   // of share, wait and length
	AheadLonger  AheadCause = "longer"  // it waits longer
	AheadBatch   AheadCause = "batch"   // of the same one, in which larger ones go first
)

// Merits is what a job is ranked by.
type Merits struct {
	Priority Priority `json:"priority"`
	Share    float64  `json:"share,omitempty"`            // what its user, and the user's groups, had lately, in parts that are due; 1: all of it
	Waited   Span     `json:"waited_seconds"`             // that counts
	Length   Span     `json:"ranks_as_seconds,omitempty"` // that is expected of it
	Score    float64  `json:"score,omitempty"`
}

// Rounded returns what people can tell apart of it: hundredths and seconds.
func (m Merits) Rounded() Merits {
	hundredths := func(x float64) float64 { return math.Round(x*100) / 100 }
	m.Share, m.Score = hundredths(m.Share), hundredths(m.Score)
	m.Waited, m.Length = m.Waited.Floor(), m.Length.Floor()
	return m
}

// Sooner is a change of a waiting job with which it would start sooner.
type Sooner struct {
	Change Change
	Any    AnyOf // of GPUs that would be left to the scheduler as well
	Now    bool  // it would start at once
	Start  ExpectedStart
}

// AnyOf is what a job says of its GPUs that would be left out.
type AnyOf struct {
	GPUs bool // which by their indexes
	Type bool
	Load bool // how busy they may be, and how much of their memory may be in use
}
