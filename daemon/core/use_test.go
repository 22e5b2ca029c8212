package core_test

import (
	"maps"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
)

// When a job has ended, its use of GPUs is on record, and stays so after a restart. A job without
// GPUs has no such record.
func TestUseIsOnRecord(t *testing.T) {
	for milli, want := range map[int]map[string]int64{1500: {"u1001": (90 * time.Minute).Microseconds()}, 0: {}} {
		w := runningWorld(t, 2, func(r *job.Request) { r.GPUMilli = milli })
		w.policy.Sched.HalfLife = 0
		w.step(core.Configured{Policy: w.policy}, -1)
		w.now = w.now.Add(time.Hour)
		w.step(w.sample(0), -1)
		w.units[1].Phase = core.Exited
		w.step(w.listed(), -1)
		w.settle()
		got := map[string]int64{}
		for who, u := range w.usage {
			got[who] = u.Micro
		}
		if !maps.Equal(got, want) {
			t.Errorf("%d thousandths of a GPU for an hour: %v, want %v", milli, got, want)
		}
	}
}

// The energy of a job is its part of the difference that the driver's counter shows. If the driver
// has no counter, the energy is power times time. Time without good samples, or without a known
// power, adds nothing.
func TestEnergyIsOnRecord(t *testing.T) {
	for name, c := range map[string]struct {
		milli   int
		counter []uint64 // the counter's value in each sample, 10 s apart
		power   []int64
		want    float64
	}{
		"counted":            {1000, []uint64{5000, 6500, 9000}, []int64{1, 1, 1}, 4},
		"half of it":         {500, []uint64{5000, 6500, 9000}, []int64{1, 1, 1}, 2},
		"by power":           {1000, []uint64{0, 0, 0}, []int64{100_000, 300_000, 300_000}, 5000},
		"not told between":   {1000, []uint64{5000, 0, 9000}, []int64{100, 100, 100}, 4},
		"reckoned too high":  {1000, []uint64{5000, 0, 0, 9000}, []int64{300, 300, 300, 300}, 4},
		"and too low":        {1000, []uint64{5000, 0, 9000, 0, 99000}, []int64{300, 300, 300, 3, 3}, 94},
		"not told at last":   {1000, []uint64{5000, 9000, 0}, []int64{200, 200, 200}, 6},
		"power unknown once": {1000, []uint64{5000, 0, 0, 99000}, []int64{300, -1, 300, 300}, 3},
		"no power":           {1000, []uint64{5000, 0, 9000}, []int64{-1, -1, -1}, -1},
		"counted anew":       {1000, []uint64{5000, 10, 20}, []int64{200_000, 200_000, 200_000}, 2000.01},
		"nothing is known":   {1000, []uint64{0, 0, 0}, []int64{-1, -1, -1}, -1},
		"known for a while":  {1000, []uint64{0, 0, 0}, []int64{-1, 100_000, 100_000}, 1000},
	} {
		w := runningWorld(t, 1, func(r *job.Request) { r.GPUMilli = c.milli })
		w.gpus[0].EnergyMilliJ, w.gpus[0].PowerMilliW = 0, -1
		w.step(w.sample(0), -1)
		for i := range c.counter {
			w.now = w.now.Add(10 * time.Second)
			w.gpus[0].EnergyMilliJ, w.gpus[0].PowerMilliW = c.counter[i], c.power[i]
			w.step(w.sample(0), -1)
		}
		uses := w.core.View(job.Query{IDs: []job.ID{1}}, w.now).Jobs[0].Uses
		if len(uses) != 1 || uses[0].Joules() != c.want {
			t.Errorf("%s: %+v, want %g J", name, uses, c.want)
		}
	}
}

// A daemon that is killed loses at most half of the energy that a job has used, or that of the last ten
// minutes. Few of the samples are recorded for that.
func TestEnergySurvivesAKill(t *testing.T) {
	w := runningWorld(t, 1, nil)
	written, last := 0, time.Duration(0)
	for ran := time.Duration(0); ran < time.Hour; ran += 10 * time.Second {
		w.now = w.now.Add(10 * time.Second)
		w.gpus[0].EnergyMilliJ += 1000
		w.step(w.sample(0), -1)
		metered := w.jobs[1].Attempt.GPUs[0].Use.Metered
		if metered != last {
			written, last = written+1, metered
		}
		if lost := ran - metered; lost > max(time.Minute, min(ran/2, 10*time.Minute)) {
			t.Errorf("after %s, %s are on record", ran, metered)
		}
	}
	if written > 10 {
		t.Errorf("%d records in an hour", written)
	}
}

// If two jobs use a GPU one after the other, each is given only the energy that it used, no matter
// when the driver updates its counter.
func TestEnergyIsSplitBetweenSuccessiveJobs(t *testing.T) {
	w := runningWorld(t, 1, nil)
	look := func(after time.Duration, counter uint64, milliW int64) {
		w.now = w.now.Add(after)
		w.gpus[0].EnergyMilliJ, w.gpus[0].PowerMilliW = counter, milliW
		ev := w.sample(99).(core.Sampled)
		ev.Snap.Look = counter == 0
		w.step(ev, -1)
		w.settle()
	}
	joules := func(id job.ID) float64 {
		v := w.core.View(job.Query{IDs: []job.ID{id}}, w.now).Jobs[0]
		return v.Uses[0].Joules()
	}
	w.queue(nil)
	look(time.Second, 1_000_000, 700_000)
	before := joules(1)
	look(4900*time.Millisecond, 0, 700_000)
	if got := joules(1) - before; got != 3430 {
		t.Errorf("the first used %g J up to a sample", got)
	}
	w.exit(0)
	look(time.Millisecond, 0, 100_000)
	if j := w.jobs[2]; j.State != job.Running {
		t.Fatalf("the second is %s", j.State)
	}
	look(time.Millisecond, 0, 100_000)
	look(90*time.Millisecond, 1_000_000+3_600_000, 100_000) // the counter shows more than was estimated
	if got := joules(2); got < 9 || got > 10 {
		t.Errorf("the second used %g J in 90 ms at 100 W", got)
	}
	for range 2 {
		if v := w.core.View(job.Query{}, w.now).GPUs[0]; v.EnergyMilliJ != 4_600_000 {
			t.Errorf("the GPU used %d mJ", v.EnergyMilliJ)
		}
		look(time.Second, 0, 100_000) // a sample without the counter changes nothing
	}
}

// Each job that has not ended is counted once, including an array whose tasks have all become jobs.
func TestCountsOfJobs(t *testing.T) {
	w := runningWorld(t, 3, nil)
	w.queue(func(r *job.Request) { r.Array = &job.Array{Ranges: []job.Range{{First: 0, Last: 1, Step: 1}}} })
	w.settle()
	w.queue(nil)
	w.queue(nil)
	if got, want := w.core.Counts(), (map[job.State]int{job.Spawned: 1, job.Running: 3, job.Queued: 2}); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := newWorld(0, t.Logf).core.Counts(); len(got) != 0 {
		t.Errorf("without a job: %v", got)
	}
}
