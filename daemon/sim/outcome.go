package sim

import (
	"fmt"
	"time"
)

// Outcome is what came of one run.
type Outcome struct {
	Jobs    []JobOutcome // in the order of the trace
	Metrics Metrics
	Hash    string        // of all starts and stops, in order
	Starts  *StartFigures // nil: nobody asked
}

// end is when the last job ended.
func (o *Outcome) end() time.Duration {
	last := time.Duration(0)
	for i := range o.Jobs {
		last = max(last, o.Jobs[i].End)
	}
	return last
}

// JobOutcome is what became of one job.
type JobOutcome struct {
	Job
	End         time.Duration
	Wait        time.Duration // all time in which it did not run
	Preemptions int
	Held        []Span // when it had its GPUs, in order
	Room        []Room // when it was stopped for others, in order
}

// Room is a stop of one job for another, at an instant since the trace's Begin.
type Room struct {
	For int // its place in the trace
	At  time.Duration
}

// Span is a time from one instant to a later one, since the trace's Begin.
type Span struct{ From, To time.Duration }

// within is how much of the span lies in another.
func (s Span) within(o Span) time.Duration { return max(0, min(s.To, o.To)-max(s.From, o.From)) }

// Completion is the time from the submission to the end.
func (j *JobOutcome) Completion() time.Duration { return j.End - j.Submit }

// outcome closes the books.
func (e *engine) outcome() (*Outcome, error) {
	if err := e.ledger.audit(); err != nil {
		return nil, fmt.Errorf("checking the run: %w", err)
	}
	out := &Outcome{Hash: e.ledger.hash(), Starts: e.starts.figures(e.start)}
	for i, entry := range e.ledger.entries {
		j := e.jobs[i]
		out.Jobs = append(out.Jobs, JobOutcome{Job: j, End: entry.end, Wait: entry.end - j.Submit - entry.ran,
			Preemptions: entry.preemptions, Held: entry.held, Room: entry.room})
	}
	out.Metrics = e.measure(out.Jobs)
	if err := out.Metrics.plausible(); err != nil {
		return nil, fmt.Errorf("checking the run: %w", err)
	}
	return out, nil
}
