package daemon

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/core/site"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/gpu"
	"github.com/gpusched/gpusched/gpu/gputest"
)

// blindSource is a source that can't be asked.
type blindSource struct{}

func (blindSource) Sample(context.Context) (gpu.Snapshot, error) {
	return gpu.Snapshot{}, errors.New("no driver")
}

func (b blindSource) Look(ctx context.Context) (gpu.Snapshot, error) { return b.Sample(ctx) }

// takeAll acts as the loop. It only answers questions and counts Measured events.
func takeAll(ctx context.Context, d *Daemon, measured *int) {
	defer close(d.inbox.done)
	for ctx.Err() == nil {
		m, ok := d.inbox.take()
		switch _, is := m.event.(core.Measured); {
		case is:
			*measured++
		case m.ask != nil:
			m.ask(d.core, time.Now())
		case !ok:
			d.inbox.some.Wait(time.Time{}, ctx.Done())
		}
	}
}

// On a busy machine, jobs end all the time, and each end causes a look at the GPUs.
// The use of running jobs is still read as often as on a quiet machine.
func TestMeasuresBesideManyLooks(t *testing.T) {
	for _, asks := range []time.Duration{time.Hour, 100 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			running := job.Job{ID: 1, State: job.Running, Attempt: &job.Attempt{Number: 1}}
			d := assemble(Options{
				Source: blindSource{}, Settings: Settings{SampleInterval: 5 * time.Second}, Meter: func(string) (job.HostUse, bool) {
					return job.HostUse{PeakMemBytes: 1 << 20, CPUTime: job.Span(time.Second)}, true
				},
			})
			d.core = core.New(site.Policy{}, "boot", job.Restored{Jobs: []job.Job{running}})
			s, measured := d.sampler, 0
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			go takeAll(ctx, d, &measured)
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

// Where idle jobs are parked, the use of jobs is read at least every five seconds.
func TestMeasuresParkedJobs(t *testing.T) {
	for action, want := range map[site.Response]time.Duration{site.WarnAndStop: time.Hour, site.WarnAndPark: 5 * time.Second} {
		p := site.Policy{Usage: site.UsagePolicy{Idle: action}}
		d := assemble(Options{Settings: Settings{SampleInterval: time.Hour, Policy: p}})
		if got := d.sampler.interval(); got != want {
			t.Errorf("response %d: every %s, want %s", action, got, want)
		}
	}
}

// readings is a source that counts its samples and looks. A look lasts for the time in the field
// delay.
type readings struct {
	blindSource
	delay          time.Duration
	samples, looks atomic.Int64
}

func (r *readings) Sample(ctx context.Context) (gpu.Snapshot, error) {
	r.samples.Add(1)
	return r.blindSource.Sample(ctx)
}

func (r *readings) Look(ctx context.Context) (gpu.Snapshot, error) {
	r.looks.Add(1)
	pause(ctx, machine{}, r.delay)
	return r.blindSource.Look(ctx)
}

// A job that is about to start waits for a look, which is much quicker than a sample. Even many
// looks do not make samples rarer, with one exception: if some start waits all the time, there are
// half as many samples.
func TestStartsWaitForLooks(t *testing.T) {
	for name, c := range map[string]struct {
		asks, took     time.Duration
		looks, samples int64 // expected numbers in a minute
	}{
		"nobody waits":    {time.Hour, 0, 0, 12},
		"now and then":    {1700 * time.Millisecond, 0, 35, 12},
		"many":            {100 * time.Millisecond, 0, 588, 12},
		"always somebody": {100 * time.Millisecond, 150 * time.Millisecond, 399, 6},
	} {
		synctest.Test(t, func(t *testing.T) {
			source := &readings{delay: c.took}
			d := assemble(Options{Source: source, Settings: Settings{SampleInterval: 5 * time.Second}})
			d.core = core.New(site.Policy{}, "boot", job.Restored{})
			s := d.sampler
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			go takeAll(ctx, d, new(int))
			go s.run(ctx)
			for n := uint64(1); ctx.Err() == nil; n++ {
				pause(ctx, machine{}, c.asks)
				s.ask(n)
				synctest.Wait()
				if looks := uint64(source.looks.Load() + source.samples.Load()); c.took == 0 && looks < n && ctx.Err() == nil {
					t.Fatalf("%s: look %d was not taken at once: %d were", name, n, looks)
				}
			}
			looks, samples := source.looks.Load(), source.samples.Load()
			if abs(looks-c.looks) > 14 || abs(samples-c.samples) > 1 {
				t.Errorf("%s: %d looks and %d samples in a minute, want about %d and %d", name, looks, samples, c.looks, c.samples)
			}
		})
	}
}

// Somebody who parks a job waits for a look that begins after the request, or for lookTime if the
// driver hangs.
func TestParkingWaitsForALook(t *testing.T) {
	for took, want := range map[time.Duration]time.Duration{100 * time.Millisecond: 100 * time.Millisecond, time.Hour: lookTime} {
		synctest.Test(t, func(t *testing.T) {
			source := &readings{delay: took}
			d := assemble(Options{Source: source, Settings: Settings{SampleInterval: 5 * time.Second}})
			d.core = core.New(site.Policy{}, "boot", job.Restored{})
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			go takeAll(ctx, d, new(int))
			go d.sampler.run(ctx)
			synctest.Wait()
			began := time.Now()
			if err := d.lookUp(ctx, job.Actor{}, []job.Command{{Kind: job.CommandPark, Job: 7}}); err != nil {
				t.Error(err)
			}
			if waited := time.Since(began); source.looks.Load() != 1 || waited != want {
				t.Errorf("%d looks, after %s, want %s", source.looks.Load(), waited, want)
			}
		})
	}
}

func abs(n int64) int64 { return max(n, -n) }

// A start waits for a look at the GPUs. That look begins before the job's placement is on disk.
func TestALookDoesNotWaitForTheDisk(t *testing.T) {
	d := assemble(Options{})
	d.core = core.New(site.Policy{MaxForeignBytes: 1 << 20}, "boot", job.Restored{})
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
