package sched

import (
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

func askCPUs(n int) func(*Waiting) { return asks(func(r *job.Request) { r.CPUs = n }) }

// A job that waits for CPUs gets a reservation: jobs that run longer leave it the CPUs that it
// needs. A job that names no number of CPUs starts, and takes at most the CPUs that are left.
func TestCPUsAreKept(t *testing.T) {
	sc := newScene(t, 4)
	sc.s.Host = Host{CPUs: 16, PromisedCPUs: 10, GPUCPUs: 12}
	sc.runJob(101, time.Hour, onGPUs(0)...).CPUs = 10
	sc.queueJob(1, 1000, askCPUs(12))
	sc.queueJob(2, 1000, askCPUs(5), expected(2*time.Hour)) // 4 CPUs are left at the reserved start
	sc.queueJob(3, 1000, askCPUs(2), expected(30*time.Minute))
	sc.queueJob(4, 1000, expected(2*time.Hour))
	sc.expect("start 3 on 1, start 4 on 2, keep 0 for 1 at +1h0m0s")
	if got := sc.p.out.Place[1].CPUs; got != 3 {
		t.Errorf("the job that names none counts for %d CPUs, want 3", got)
	}
	if why := sc.printReasons(sc.lastJob(1000, askCPUs(5), expected(2*time.Hour))); why != "host-cpus, need 5 have 1, ann's jobs hold 10 CPUs; gpu-busy on 0, job 101; gpu-kept on 1, job 3; gpu-kept on 2, job 4; gpu-free on 3" {
		t.Errorf("why: %s", why)
	}
}

// The machine can lose CPUs while a job waits for CPUs.
func TestReasonOfLostCPUs(t *testing.T) {
	for left, want := range map[int]string{
		8: "too-much, can never start: asks for 10 CPUs, this machine has 8 CPUs for jobs (use a smaller --cpus); host-cpus, need 10 have 8; gpu-free on 0",
		1: "too-much, can never start: asks for 10 CPUs, this machine has 1 CPU for jobs (use a smaller --cpus); host-cpus, need 10 have 1; gpu-free on 0",
	} {
		sc := newScene(t, 1)
		sc.s.Host = Host{CPUs: left, GPUCPUs: left}
		sc.queueJob(1, 1000, askCPUs(10))
		sc.expect("wait")
		if why := sc.printReasons(sc.lastJob(1000, askCPUs(10))); why != want {
			t.Errorf("%d are left: %s", left, why)
		}
	}
}

// A job that names no number of CPUs never waits for CPUs. If no user ever names a number, jobs
// start as if CPUs were not counted.
func TestWaitsForNoCPUsIfItNamesNone(t *testing.T) {
	for name, c := range map[string]struct {
		host  Host
		quota int
		want  int // how many CPUs a job with one of four GPUs occupies
	}{
		"its GPU's part":       {Host{CPUs: 16, GPUCPUs: 12}, 0, 3},
		"what is left":         {Host{CPUs: 16, GPUCPUs: 12, PromisedCPUs: 14}, 0, 2},
		"none is left":         {Host{CPUs: 16, GPUCPUs: 12, PromisedCPUs: 16}, 0, 0},
		"less than none":       {Host{CPUs: 16, GPUCPUs: 12, PromisedCPUs: 20}, 0, 0},
		"what its user may":    {Host{CPUs: 16, GPUCPUs: 12}, 1, 1},
		"fewer CPUs than GPUs": {Host{CPUs: 4, GPUCPUs: 3}, 0, 0},
		"not counted":          {Host{}, 0, 0},
	} {
		sc := newScene(t, 4)
		sc.s.Host = c.host
		sc.user("ann").MaxCPUs = c.quota
		sc.queueJob(1, 1000)
		sc.queueJob(2, 0)
		sc.queueJob(3, 10)
		sc.expect("start 1 on 0, start 2 on none, start 3 on 10m of 1")
		if got := sc.p.out.Place[0].CPUs; got != c.want || sc.p.out.Place[1].CPUs != 0 || sc.p.out.Place[2].CPUs != 0 {
			t.Errorf("%s: %+v, want %d CPUs", name, sc.p.out.Place, c.want)
		}
	}
}

// Quotas of memory and CPUs limit what the jobs of a user, or of all members of a group, have at
// the same time. Running jobs count, and so do jobs that the pass starts. The reasons name quotas
// of both kinds.
func TestQuotasOfMemoryAndCPUs(t *testing.T) {
	sc := newScene(t, 0)
	lab := &Account{UID: -1, Name: "lab", MaxCPUs: 6, MaxMem: 12 * gib}
	ann, bob := sc.user("ann"), sc.user("bob")
	ann.Groups, bob.Groups, ann.MaxMem = []*Account{lab}, []*Account{lab}, 8*gib
	for _, a := range []*Account{ann, lab} {
		a.Promise(5*gib, 2)
	}
	ask := func(mem int64, cpus int) func(*Waiting) {
		return asks(func(r *job.Request) { r.MemBytes, r.CPUs = mem*gib, cpus })
	}
	sc.queueJob(1, 0, ask(4, 0))          // above ann's quota
	sc.queueJob(2, 0, ask(3, 1))          // within ann's quota
	sc.queueJob(3, 0, of(bob), ask(3, 4)) // above the lab's CPUs
	sc.queueJob(4, 0, of(bob), ask(3, 3))
	sc.queueJob(5, 0, of(bob), ask(2, 0)) // above the lab's memory
	sc.expect("start 2 on none, start 4 on none")
	ann.MaxCPUs = 3
	if got, want := sc.printReasons(sc.lastJob(0, ask(4, 5))), "too-much, can never start: asks for 5 CPUs, the quota of ann is 3 CPUs (use a smaller --cpus, or ask an administrator for a larger quota); "+
		"quota-mem, need 4294967296 have 3221225472, ann has 3G of 8G left; quota-cpus, need 5 have 1, ann has 1 of 3 left; quota-cpus, need 5 have 4, group lab has 4 of 6 left"; got != want {
		t.Errorf("why: %s, want %s", got, want)
	}
	if got, want := sc.printReasons(sc.lastJob(0, ask(9, 0))), "too-much, can never start: asks for 9G of host memory, the quota of ann is 8G (use a smaller --mem, or ask an administrator for a larger quota); "+
		"quota-mem, need 9663676416 have 3221225472, ann has 3G of 8G left; quota-mem, need 9663676416 have 7516192768, group lab has 7G of 12G left"; got != want {
		t.Errorf("why: %s, want %s", got, want)
	}
}

// A preemptible job is stopped for a job that waits for its CPUs.
func TestCPUsAreTakenBack(t *testing.T) {
	sc := newScene(t, 2)
	sc.s.Policy.Slice = 30 * time.Minute
	sc.s.Host = Host{CPUs: 8, PromisedCPUs: 7}
	r := sc.runJob(101, time.Hour, onGPUs(0)...)
	r.CPUs, r.Preemptible, r.Priority = 7, true, job.Priority{Number: -1}
	sc.queueJob(1, 1000, askCPUs(4))
	sc.expect("keep 0 for 1 at +1h0m0s, stop 101 for 1")
}
