package core_test

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

var sizes = []int{1_000, 10_000, 100_000}

// nth returns a submission by one of 50 users, in one of five sizes and eleven kinds.
func nth(i int) job.Submission {
	uid := 1001 + i%50
	return job.Submission{
		Key: fmt.Sprintf("%032x", i), Owner: job.Owner{UID: uid, GID: uid, User: fmt.Sprint("user", uid)}, Label: job.Label{Name: fmt.Sprint("train-", i)},
		Request: job.Request{
			GPUMilli: []int{500, 1000, 2000, 4000, 8000}[i/50%5], MemBytes: 8 * gib, TimeLimit: job.Span(time.Hour),
			Derived: job.Derived{Shape: fmt.Sprintf("%016x", uid*100+i/250%11), Script: fmt.Sprintf("%016x", uid)},
		},
		Payload: job.Payload{Program: contract.Program{Argv: []string{"python", "train.py", fmt.Sprint(i)}, Env: []string{"HOME=/home/x"}, Dir: "/home/x"}},
		GIDs:    job.GIDs{100, uid},
	}
}

// fullWorld returns a machine with eight busy GPUs and the given number of waiting jobs.
func fullWorld(b *testing.B, waiting int) *world {
	w := newWorld(8, func(string, ...any) {})
	w.step(w.listed(), -1)
	w.step(w.sample(0), -1)
	for i := range 8 {
		s := nth(i)
		s.Request.GPUMilli = job.WholeGPU
		w.step(core.Submit{Submission: s}, -1)
	}
	w.settle()
	for i := range waiting {
		w.core.Step(core.Submit{Token: 1, Submission: nth(i + 8)}, w.now)
	}
	if n := w.core.Counts()[job.Queued]; n != waiting {
		b.Fatalf("%d jobs wait", n)
	}
	return w
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkMemory reports the memory that a waiting job takes in the daemon.
func BenchmarkMemory(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprint("jobs=", n), func(b *testing.B) {
			for b.Loop() {
				before := heap()
				w := fullWorld(b, n)
				b.ReportMetric(float64(heap()-before)/float64(n), "B/job")
				runtime.KeepAlive(w)
			}
		})
	}
}

// BenchmarkSubmit submits a job to a queue of some length, and cancels it.
func BenchmarkSubmit(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprint("jobs=", n), func(b *testing.B) {
			w := fullWorld(b, n)
			i := 10_000_000
			for b.Loop() {
				i++
				eff := w.core.Step(core.Submit{Token: 1, Submission: nth(i)}, w.now)
				w.core.Step(core.Command{Token: 1, Who: job.Actor{Admin: true}, What: job.Command{Kind: job.CommandCancel, Job: eff.Replies[0].ID}}, w.now)
			}
		})
	}
}

// BenchmarkSubmitDistinct is like BenchmarkSubmit, but 20 000 jobs wait, all with different
// requests. The machine has as many GPUs as are supported, and one of them is out of service. A
// listing and a sample are timed as well.
func BenchmarkSubmitDistinct(b *testing.B) {
	w := fullWorld(b, 0)
	admin := job.Actor{Admin: true}
	w.core.Step(core.Command{Who: admin, What: job.Command{Kind: job.CommandDrainGPU, GPU: 7}}, w.now)
	distinct := func(i int) core.Submit {
		s := nth(i)
		s.Request.GPUMilli, s.Request.MemBytes = 8000, int64(i)
		return core.Submit{Token: 1, Submission: s}
	}
	for i := range 20_000 {
		w.core.Step(distinct(i), w.now)
	}
	b.Run("submit", func(b *testing.B) {
		for i := 10_000_000; b.Loop(); i++ {
			eff := w.core.Step(distinct(i), w.now)
			w.core.Step(core.Command{Token: 1, Who: admin, What: job.Command{Kind: job.CommandCancel, Job: eff.Replies[0].ID}}, w.now)
		}
	})
	b.Run("sample", func(b *testing.B) {
		for b.Loop() {
			w.core.Step(w.sample(0), w.now)
		}
	})
	b.Run("show", func(b *testing.B) {
		for b.Loop() {
			w.core.View(job.Query{IDs: []job.ID{20}, Reasons: true}, w.now)
		}
	})
}

// feed feeds an event and answers all actions that follow, without the checks of a world's step.
func (w *world) feed(ev core.Event) {
	for _, a := range w.core.Step(ev, w.now).Actions {
		switch a := a.(type) {
		case core.Start:
			w.units[a.Job.ID] = &unit{Unit: core.Unit{Job: a.Job.ID, Phase: core.Active}}
			w.feed(core.Started{Job: a.Job.ID, Attempt: a.Job.Attempt.Number, Unit: w.units[a.Job.ID].Unit})
		case core.Stop:
			delete(w.units, a.Job)
			w.feed(core.Stopped{Job: a.Job, Attempt: a.Attempt, OK: true})
		case core.Inspect:
			w.feed(core.Inspected{Job: a.Job, Attempt: a.Attempt, Unit: w.units[a.Job].Unit, OK: true})
		case core.Sample:
			w.feed(w.sample(a.Number))
		}
	}
}

// BenchmarkFinish submits a job, ends another, and starts the next jobs that fit.
func BenchmarkFinish(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprint("jobs=", n), func(b *testing.B) {
			w := fullWorld(b, n)
			for i := range w.gpus {
				w.gpus[i].Processes = nil
			}
			for i := 10_000_000; b.Loop(); i++ {
				w.core.Step(core.Submit{Token: 1, Submission: nth(i)}, w.now) // keeps the queue at the same length
				id := slices.Min(slices.Collect(maps.Keys(w.units)))
				w.units[id].Phase = core.Exited
				w.feed(core.Changed{Job: id})
			}
			if len(w.units) == 0 {
				b.Fatal("nothing runs any more")
			}
		})
	}
}

// BenchmarkShow views one job, as 'gpusched show' does.
func BenchmarkShow(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprint("jobs=", n), func(b *testing.B) {
			w := fullWorld(b, n)
			for b.Loop() {
				if v := w.core.View(job.Query{IDs: []job.ID{20}, Reasons: true}, w.now); len(v.Jobs) != 1 {
					b.Fatal("no job 20")
				}
			}
		})
	}
}

// BenchmarkDeadline times Deadline and a tick while many jobs wait for their begin times.
func BenchmarkDeadline(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprint("jobs=", n), func(b *testing.B) {
			w := fullWorld(b, 0)
			for i := range n {
				s := nth(i + 8)
				s.Request.Begin = w.now.Add(time.Hour + time.Duration(i)*time.Second)
				w.core.Step(core.Submit{Submission: s}, w.now)
			}
			b.ResetTimer()
			for b.Loop() {
				if w.core.Deadline().IsZero() {
					b.Fatal("no deadline")
				}
				w.core.Step(core.Tick{}, w.now)
			}
		})
	}
}
