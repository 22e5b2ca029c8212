package core_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
)

// BenchmarkLook measures the work of the core's loop, and of its clients, if jobs are listed once
// after each change.
func BenchmarkLook(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		w := fullWorld(b, n)
		w.core.Step(core.Tick{}, w.now)
		for name, q := range map[string]job.Query{
			"first":  {Reasons: true, Waiting: 200},
			"status": {Reasons: true, Waiting: 10, Totals: true},
			"all":    {},
			"user":   {Reasons: true, Waiting: 200, UID: new(1001)},
			"ended":  {UID: new(1001), Choice: job.Choice{States: job.EndStates()}},
			"show":   {IDs: []job.ID{job.ID(n)}, Reasons: true, Attempts: true},
		} {
			b.Run(fmt.Sprintf("%s/jobs=%d", name, n), func(b *testing.B) {
				b.ReportAllocs()
				var told time.Duration
				for i := 0; b.Loop(); i++ {
					v, ahead := w.core.ViewAndForesight(q, w.now.Add(time.Duration(2*i)*time.Second))
					began := time.Now()
					for i := range v.Jobs {
						ahead.Foretell(&v.Jobs[i])
					}
					told += time.Since(began)
				}
				b.ReportMetric(float64(told.Microseconds())/1000/float64(b.N), "ms-foretold/op")
			})
		}
		b.Run(fmt.Sprintf("names/jobs=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if len(w.core.Names(job.Query{}, w.now)) < n {
					b.Fatal("some are not named")
				}
			}
		})
		b.Run(fmt.Sprintf("explained/jobs=%d", n), func(b *testing.B) {
			for b.Loop() {
				if _, ok := w.core.Explained(job.ID(n), w.now); !ok {
					b.Fatal("does not wait")
				}
			}
		})
	}
}
