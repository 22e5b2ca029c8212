package core_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/core/foresight"
	"github.com/gpusched/gpusched/daemon/job"
)

// whyQuery returns a query that asks why a job waits.
func whyQuery(id job.ID) job.Query { return job.Query{IDs: []job.ID{id}, Reasons: true} }

// All clients share one forecast until something changes or a second has passed.
func TestForesight(t *testing.T) {
	w := newWorld(1, func(string, ...any) {})
	w.step(w.listed(), -1)
	w.step(w.sample(0), -1)
	submit := func() job.ID {
		s := job.Submission{Owner: job.Owner{UID: 1001, User: "alice"}, Label: job.Label{Name: "j"}, Request: job.Request{GPUMilli: 1000, TimeLimit: job.Span(time.Hour)}}
		return w.core.Step(core.Submit{Token: 1, Submission: s}, w.now).Replies[0].ID
	}
	submit()
	w.settle()
	second, third := submit(), submit()
	look := func(after time.Duration) (*foresight.Foresight, time.Time) {
		w.now = w.now.Add(after)
		v, f := w.core.ViewAndForesight(whyQuery(third), w.now)
		f.Foretell(&v.Jobs[0])
		return f, v.Jobs[0].Start.At
	}
	first, start := look(0)
	if again, told := look(999 * time.Millisecond); again != first || !told.Equal(start) || start.IsZero() {
		t.Errorf("a question within a second: forecast %d after %d, start %v after %v", again.Number, first.Number, told, start)
	}
	later, _ := look(time.Millisecond)
	if later == first {
		t.Error("a question a second later is answered from what was known before")
	}
	who := job.Actor{UID: 1001, User: "alice"}
	w.core.Step(core.Command{Token: 1, Who: who, What: job.Command{Kind: job.CommandCancel, Job: second}}, w.now)
	if next, told := look(0); next.Number <= later.Number || !told.Before(start) {
		t.Errorf("once a job before it is cancelled: forecast %d after %d, start %v after %v", next.Number, later.Number, told, start)
	}
	if _, f := w.core.ViewAndForesight(whyQuery(third), w.now.Add(-time.Hour)); f == nil || f.Number <= later.Number+1 {
		t.Error("a clock that is set back leaves the forecast of a time to come")
	}
}

// crowd returns a machine of 64 GPUs with 1000 preemptible jobs.
func crowd(b *testing.B) *world {
	w := newWorld(64, func(string, ...any) {})
	w.step(w.listed(), -1)
	w.step(w.sample(0), -1)
	for i := range 1000 {
		s := nth(i)
		s.Request.Preemptible = true
		w.core.Step(core.Submit{Token: 1, Submission: s}, w.now)
		if i < 64 {
			w.settle()
		}
	}
	w.now = w.now.Add(time.Hour)
	return w
}

// BenchmarkAsk measures what the core's loop does when 96 clients ask at once why a job waits. With
// "foretold=true" it includes the forecast, which is computed once for all of them.
func BenchmarkAsk(b *testing.B) {
	w := crowd(b)
	const clients = 96
	for _, all := range []bool{false, true} {
		b.Run(fmt.Sprint("foretold=", all), func(b *testing.B) {
			for b.Loop() {
				w.now = w.now.Add(time.Second)
				for i := range clients {
					v, f := w.core.ViewAndForesight(whyQuery(job.ID(1000-i)), w.now)
					if all {
						f.Foretell(&v.Jobs[0])
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/clients, "us/client")
		})
	}
}
