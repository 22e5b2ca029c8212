package words

import (
	"slices"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// Reader is a person who reads sentences. The zero Reader is a script: it reads times in UTC, and
// jobs of only one machine.
type Reader struct {
	Moment func(time.Time) string // formats a time in the reader's zone; nil: in UTC
	Host   string                 // machine that is named before each job; "": none
	Brief  bool                   // shows only the most important part, for a narrow column
}

// Say returns the sentence of a message, with the hint in brackets.
func (r Reader) Say(m job.Message) string { return Say(r.message(m)) }

// Refusal returns what was refused and why, and a hint about what to do next.
func (r Reader) Refusal(m job.Message) (text, hint string) { return split(r.message(m)) }

// Reason returns why a job waits, without naming the GPU.
func (r Reader) Reason(x job.Reason) string { return Reason(r.reason(x)) }

// Why returns one short line that says why a job waits.
func (r Reader) Why(list []job.Reason) string {
	parts := listCauses(job.Each(list, r.reason))
	if r.Brief {
		parts = parts[:min(len(parts), 1)]
	}
	return strings.Join(parts, "; ")
}

// Check describes the health of one part of the scheduler.
func (r Reader) Check(c job.Check) string {
	if c.Said == nil {
		return c.Detail
	}
	return r.Say(*c.Said)
}

// Result returns how an attempt ended.
func (r Reader) Result(x *job.Result) string { return Result(r.result(x)) }

// Shown returns how an attempt ended. If another scheduler ran the job and that scheduler's words
// are known, it returns these words.
func (r Reader) Shown(x *job.ShownResult) string {
	if !x.Said.IsZero() {
		return r.Say(x.Said)
	}
	return r.Result(&x.Result)
}

// Ending is like Result, but without the state and the colon at the beginning.
func (r Reader) Ending(x *job.Result) string { return ending(r.result(x)) }

// How returns the same as Result, in a form for a line that also shows the state.
func (r Reader) How(x *job.Result) string { return How(r.result(x)) }

func (r Reader) Event(e *job.Event) string {
	read := *e
	read.Why = r.message(e.Why)
	if e.Result != nil {
		read.Result = &job.ShownResult{Result: *r.result(&e.Result.Result)}
	}
	return Event(&read)
}

// message converts the arguments of a message for the reader.
func (r Reader) message(m job.Message) job.Message {
	m.Args = slices.Clone(m.Args)
	for i, a := range m.Args {
		switch v := a.(type) {
		case time.Time:
			if r.Moment != nil {
				m.Args[i] = r.Moment(v)
			}
		case job.Message:
			m.Args[i] = r.message(v)
		case job.Reason:
			m.Args[i] = r.reason(v)
		case job.Result:
			m.Args[i] = *r.result(&v)
		}
	}
	return m
}

func (r Reader) reason(x job.Reason) job.Reason {
	x.Detail, x.Endless = r.message(x.Detail), r.message(x.Endless)
	if r.Host != "" {
		x.Names = slices.Clone(jobNames(x))
		for i := range x.Names {
			x.Names[i] = r.Host + ":" + x.Names[i]
		}
	}
	return x
}

func (r Reader) result(x *job.Result) *job.Result {
	read := *x
	read.Detail, read.Left = r.message(x.Detail), r.message(x.Left)
	if r.Brief {
		read.Left = job.Message{}
		if read.Cause != job.StopGPULost {
			read.GPUError = nil
		}
	}
	if name := forName(x); r.Host != "" && name != "" {
		read.ForName = r.Host + ":" + name
	}
	return &read
}
