package sched

import (
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

func high(r *job.Request) { r.Priority.Class = job.High }

// TestWhoIsParked has a job on one GPU, which can be parked with a copy of 30 GiB, and a waiting job
// of a higher class.
func TestWhoIsParked(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*scene, *Running)
		want   []Preemption
	}{
		"room for the copy":                 {nil, []Preemption{{Victim: 101, For: 1, Park: true}}},
		"not preemptible":                   {func(_ *scene, r *Running) { r.Preemptible = false }, []Preemption{{Victim: 101, For: 1, Park: true}}},
		"no room by the policy":             {func(sc *scene, _ *Running) { sc.s.ParkBytes = 29 * gib }, []Preemption{{Victim: 101, For: 1}}},
		"nor is it preemptible":             {func(sc *scene, r *Running) { sc.s.ParkBytes, r.Preemptible = 29*gib, false }, nil},
		"no room in the host's memory":      {func(sc *scene, _ *Running) { sc.s.Host.PromisedMem = 35 * gib }, []Preemption{{Victim: 101, For: 1}}},
		"came back within its slice":        {func(_ *scene, r *Running) { r.Returned = ago(29 * time.Minute) }, nil},
		"came back before its slice":        {func(_ *scene, r *Running) { r.Returned = ago(30 * time.Minute) }, []Preemption{{Victim: 101, For: 1, Park: true}}},
		"the GPUs come from a job that was": {func(_ *scene, r *Running) { r.Stopping = true }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			sc := newScene(t, 1)
			sc.s.Policy.Slice, sc.s.ParkBytes = 30*time.Minute, 100*gib
			sc.s.Host.MemBytes, sc.s.Host.PromisedMem = 64*gib, 8*gib
			sc.runPreemptible(101, func(r *Running) { r.Parks, r.ParkBytes, r.MemBytes = true, 30*gib, 8*gib }, onGPUs(0)...)
			if c.change != nil {
				c.change(sc, &sc.s.Running[0])
			}
			sc.queueJob(1, 1000, asks(high))
			if got := sc.p.Plan(&sc.s, sc.q).Preempt; len(got) != len(c.want) || len(got) == 1 && got[0] != c.want[0] {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}

// A parked job keeps its host memory, so a job that needs the memory too is not helped.
func TestParkingFreesNoHostMemory(t *testing.T) {
	sc := newScene(t, 1)
	sc.s.Policy.Slice, sc.s.ParkBytes = 30*time.Minute, 100*gib
	sc.s.Host.MemBytes, sc.s.Host.PromisedMem = 64*gib, 40*gib
	sc.runPreemptible(101, func(r *Running) { r.Parks, r.MemBytes = true, 40*gib }, onGPUs(0)...)
	sc.queueJob(1, 1000, asks(high), asks(func(r *job.Request) { r.MemBytes = 30 * gib }))
	if got := sc.p.Plan(&sc.s, sc.q).Preempt; len(got) != 0 {
		t.Errorf("%+v", got)
	}
}

// TestReturns has a parked job that waits for one of two GPUs. The account and the host are full,
// which does not matter, since the job counts there already.
func TestReturns(t *testing.T) {
	sc := newScene(t, 2)
	sc.s.Host = Host{GPUsSeen: true, MaxRunning: 1, Running: 1, MemBytes: 8 * gib, PromisedMem: 8 * gib, CPUs: 4, PromisedCPUs: 4, GPUCPUs: 4}
	ann := sc.user("ann")
	ann.MaxJobs, ann.Jobs, ann.Barred = 1, 1, "it has expired"
	sc.s.Running = []Running{{ID: 1, Account: ann, Quota: 1000, MemBytes: 8 * gib, CPUs: 4, Still: Never, End: noon.Add(time.Hour)}}
	j := job.Job{Attempt: &job.Attempt{GPUs: make([]job.Allocation, 1)}}
	j.Attempt.GPUs[0].Index = 1
	j.Request = job.Request{GPUMilli: 1000, MemBytes: 8 * gib, CPUs: 4, GPUsFrom: []int{0, 1}}
	sc.queueJob(1, 1000, func(w *Waiting) { w.Request, w.Returns = j.Request.Return(j.Attempt.GPUs, nil), true })
	sc.queueJob(2, 1000)
	sc.expect("start 1 on 1")
	if why := sc.p.Explain(&Waiting{ID: 1, Request: j.Request.Return(j.Attempt.GPUs, nil), Account: ann, Expected: time.Hour, Returns: true}); len(why) == 0 {
		t.Error("the GPU is given out, and there is no reason to wait")
	}
}

// The GPU of which a job has a part is the last that its request to return names.
func TestReturnRequest(t *testing.T) {
	j := job.Job{Attempt: &job.Attempt{GPUs: make([]job.Allocation, 3)}}
	for i := range j.Attempt.GPUs {
		j.Attempt.GPUs[i].Index = 4 + i
	}
	j.Attempt.GPUs[0].Milli = 500
	j.Request.GPUMilli = 2500
	if ids := j.Request.Return(j.Attempt.GPUs, nil).GPUIDs; len(ids) != 3 || ids[0] != 5 || ids[1] != 6 || ids[2] != 4 {
		t.Errorf("it names %v", ids)
	}
}

// A forecast parks a job for another, and gives it the same GPU again. Both copies take a minute.
func TestCourseOfParking(t *testing.T) {
	sc := newScene(t, 2)
	sc.s.Policy.Slice, sc.s.ParkBytes = 30*time.Minute, 100*gib
	sc.runJob(102, 500*minute, onGPUs(0)...)
	r := sc.runJob(101, 300*minute, onGPUs(1)...)
	r.Parks, r.Notice, r.Request = true, 2*minute, &job.Request{GPUMilli: 1000}
	r.Return = &job.Request{GPUMilli: 1000, GPUIDs: []int{1}}
	sc.queueJob(1, 1000, asks(high))
	want := "102 on 0 -60..500/500, 101 on 1 -60..1/1, 1 on 1 1..61/61, 101 on 1 61..361/361"
	if got := sc.printCourse(nil, 24*time.Hour); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}
