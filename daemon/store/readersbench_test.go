package store

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// BenchmarkSubmitBesideReaders measures the commit of a submission while four people search a
// history of 300 000 jobs, again and again, for a job that is not there. It reports the median and
// the maximum. The maximum is due to the disk and the checkpoint.
func BenchmarkSubmitBesideReaders(b *testing.B) {
	const history = 300_000
	s := openAt(b, filepath.Join(b.TempDir(), "state.db"))
	for id := 0; id < history; id += 1000 {
		records := make([]job.Record, 1000)
		for i := range records {
			records[i].Job = endedJob(job.ID(id+i+1), job.Completed)
		}
		commit(b, s, records...)
	}
	for _, readers := range []int{0, 4} {
		b.Run(fmt.Sprintf("readers=%d", readers), func(b *testing.B) { submitBeside(b, s, readers) })
	}
}

func submitBeside(b *testing.B, s *Store, readers int) {
	ctx, stop := context.WithCancel(b.Context())
	var done sync.WaitGroup
	for i := range readers {
		done.Go(func() {
			for ctx.Err() == nil {
				if i%2 == 0 {
					_, _ = s.Ended(ctx, job.Query{Choice: job.Choice{Like: "*e*e*a*a*z"}, Ended: 50})
				} else {
					_, _ = s.Past(ctx, job.PastQuery{Name: "none", Newest: true, Limit: 50})
				}
			}
		})
	}
	var took []time.Duration
	p := typicalPayload()
	for b.Loop() {
		begun := time.Now()
		commit(b, s, job.Record{Job: queuedJob(s.next.job), Payload: p})
		took = append(took, time.Since(begun))
	}
	stop()
	done.Wait()
	slices.Sort(took)
	for name, at := range map[string]int{"p50": len(took) / 2, "p99": len(took) * 99 / 100, "max": len(took) - 1} {
		b.ReportMetric(float64(took[at].Microseconds())/1000, name+"-ms")
	}
}
