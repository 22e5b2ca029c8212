package core_test

import (
	"testing"

	"github.com/gpusched/gpusched/daemon/job"
)

// BenchmarkList lists 10 000 waiting jobs, with and without the reasons why they wait.
func BenchmarkList(b *testing.B) {
	w := fullWorld(b, 10_000)
	for _, q := range []struct {
		name string
		job.Query
	}{{"plain", job.Query{}}, {"reasons", job.Query{Reasons: true}}} {
		b.Run(q.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if v := w.core.View(q.Query, w.now); len(v.Jobs) < 10_000 {
					b.Fatalf("%d jobs", len(v.Jobs))
				}
			}
		})
	}
}
