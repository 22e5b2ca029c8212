package daemon

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/metrics"
	"github.com/gpusched/gpusched/gpu"
	"github.com/gpusched/gpusched/gpu/gputest"
)

// blind is a source that can't be asked.
type blind struct{}

func (blind) Sample(context.Context) (gpu.Snapshot, error) {
	return gpu.Snapshot{}, errors.New("no driver")
}

// On a machine on which jobs end all the time, and the GPUs are looked at after
// each, what the running ones use is read as often as on a quiet one.
func TestMeasuresBesideManyLooks(t *testing.T) {
	for _, asks := range []time.Duration{time.Hour, 100 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			running := job.Job{ID: 1, State: job.Running, Attempt: &job.Attempt{Number: 1}}
			d := &Daemon{
				host: machine{}, inbox: newInbox(machine{}), done: make(chan struct{}), core: core.New(core.Policy{}, "boot", job.Restored{Jobs: []job.Job{running}}),
				opt: Options{Source: blind{}, Tally: metrics.NewTally(), Meter: func(string) (job.HostUse, bool) {
					return job.HostUse{PeakMemBytes: 1 << 20, CPUTime: time.Second}, true
				}},
			}
			d.settings.Store(&Settings{SampleInterval: 5 * time.Second})
			s, measured := newSampler(d), 0
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			go func() {
				defer close(d.done)
				for ctx.Err() == nil {
					m, ok := d.inbox.take()
					switch _, is := m.event.(core.Measured); {
					case is:
						measured++
					case m.ask != nil:
						m.ask(d.core, time.Now())
					case !ok:
						d.inbox.some.Wait(time.Time{}, ctx.Done())
					}
				}
			}()
			go s.run(ctx)
			for n := uint64(1); ctx.Err() == nil; n++ {
				pause(ctx, machine{}, asks)
				s.ask(n)
			}
			synctest.Wait()
			if measured < 10 || measured > 12 {
				t.Errorf("measured %d times in a minute with a look asked for every %s", measured, asks)
			}
		})
	}
}

// The look that a start waits for does not wait itself for the record of the placement.
func TestALookDoesNotWaitForTheDisk(t *testing.T) {
	d := &Daemon{host: machine{}, core: core.New(core.Policy{MaxForeignBytes: 1 << 20}, "boot", job.Restored{}), opt: Options{Tally: metrics.NewTally()}}
	d.commit, d.sampler = newCommitter(d), newSampler(d) // which do not run
	snap, err := gputest.NewFake(1).Sample(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	d.step(core.Listed{Boot: "boot"}, time.Now())
	d.step(core.Sampled{Snap: snap}, time.Now())
	before := d.sampler.asked.Load()
	d.step(core.Submit{Submission: job.Submission{Request: job.Request{GPUMilli: job.WholeGPU}}}, time.Now())
	if n := d.core.Counts()[job.Starting]; n != 1 || d.sampler.asked.Load() == before {
		t.Errorf("%d jobs placed, look %d after %d", n, d.sampler.asked.Load(), before)
	}
}
