package sim

import (
	"fmt"
	"time"
)

// An Outcome is the result of one run.
type Outcome struct {
	Jobs    []JobOutcome // in the order of the trace
	Metrics Metrics
	Hash    string        // hash of all starts and stops, in order
	Starts  *StartFigures // nil if no expected starts were asked for
}

// lastEnd returns the time at which the last job ended.
func (o *Outcome) lastEnd() time.Duration {
	last := time.Duration(0)
	for i := range o.Jobs {
		last = max(last, o.Jobs[i].End)
	}
	return last
}

// A JobOutcome is the result of one job.
type JobOutcome struct {
	Job
	End         time.Duration
	Wait        time.Duration // all the time in which the job did not run
	Preemptions int
	Held        []Span // times in which the job had its GPUs, in order
	Room        []Room // times at which the job was preempted, in order
}

// A Room is a preemption: a job was stopped to make room for another job. The time of the stop
// counts from the trace's Begin.
type Room struct {
	For int // index, in the trace, of that other job
	At  time.Duration
}

// A Span is an interval of time since the trace's Begin.
type Span struct{ From, To time.Duration }

// overlap returns the length of the overlap with another span.
func (s Span) overlap(o Span) time.Duration { return max(0, min(s.To, o.To)-max(s.From, o.From)) }

// Completion returns the time from the submission to the end.
func (j *JobOutcome) Completion() time.Duration { return j.End - j.Submit }

// checkedOutcome checks the accounts and returns the results.
func (e *engine) checkedOutcome() (*Outcome, error) {
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
	if err := out.Metrics.checkPlausible(); err != nil {
		return nil, fmt.Errorf("checking the run: %w", err)
	}
	return out, nil
}
