package core_test

import (
	"testing"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/metrics"
)

// BenchmarkScrape measures one request of a monitoring system on a machine with 64 GPUs and a
// thousand running jobs. It measures the work of the core's loop, and how long it takes to write
// the page.
func BenchmarkScrape(b *testing.B) {
	w := newWorld(64, func(string, ...any) {})
	w.step(w.listed(), -1)
	w.step(w.sample(0), -1)
	for i := range 1000 {
		s := job.Submission{
			Owner: job.Owner{UID: 1001 + i%100, User: "u" + job.ID(i%100).String()}, Label: job.Label{Name: "j"},
			Request: job.Request{GPUMilli: 60, GPUMemBytes: 4 * gib},
		}
		w.step(core.Submit{Submission: s}, -1)
		w.settle()
	}
	if n := w.core.Counts()[job.Running]; n != 1000 {
		b.Fatalf("%d jobs run", n)
	}
	ask := func() (job.View, job.Census) {
		return w.core.View(job.Query{IDs: []job.ID{}}, w.now), w.core.Census(50)
	}
	b.Run("loop", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			ask()
		}
	})
	v, census := ask()
	tally := metrics.NewTally()
	b.Run("page", func(b *testing.B) {
		b.ReportAllocs()
		size := 0
		for b.Loop() {
			p := metrics.NewPage()
			p.AddView(&v)
			p.AddCensus(&census)
			tally.AddTo(p, &v)
			size = len(p.Text(metrics.OpenMetrics))
		}
		b.ReportMetric(float64(size), "B/page")
	})
}
