package sched

import (
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// count counts the running jobs and their host resources in the accounts, as the caller of a
// planner does.
func (sc *scene) count() {
	for i := range sc.s.Running {
		r := &sc.s.Running[i]
		for _, a := range append([]*Account{r.Account}, r.Account.Groups...) {
			a.Jobs++
			a.Milli += r.Quota
			a.Promise(r.MemBytes, r.CPUs)
		}
	}
}

// The rest of an account's quota is kept for the first job that the quota holds back. Later jobs of
// the account start only if they end before that job can start.
func TestOwnWideJob(t *testing.T) {
	lab := func(sc *scene) *Account {
		g := &Account{UID: -1, Name: "lab"}
		sc.user("ann").Groups, sc.user("bob").Groups = []*Account{g}, []*Account{g}
		return g
	}
	for name, c := range map[string]struct {
		quota func(*scene)
		wide  func(*job.Request)
	}{
		"GPUs":         {func(sc *scene) { sc.user("ann").MaxMilli = 4000 }, func(*job.Request) {}},
		"memory":       {func(sc *scene) { sc.user("ann").MaxMem = 40 }, func(r *job.Request) { r.MemBytes = 40 }},
		"CPUs":         {func(sc *scene) { sc.user("ann").MaxCPUs = 8 }, func(r *job.Request) { r.CPUs = 8 }},
		"group's GPUs": {func(sc *scene) { lab(sc).MaxMilli = 4000 }, func(*job.Request) {}},
	} {
		t.Run(name, func(t *testing.T) {
			sc := newScene(t, 6)
			r := sc.runJob(90, time.Hour, onGPUs(0)...)
			r.MemBytes, r.CPUs = 10, 2
			c.quota(sc)
			sc.count()
			small := asks(func(r *job.Request) { r.MemBytes, r.CPUs = 10, 2 })
			sc.queueJob(1, 4000, asks(c.wide))
			sc.queueJob(2, 1000, small, expected(2*time.Hour)) // would still run when job 1 can start
			sc.queueJob(3, 1000, small, expected(30*time.Minute))
			if name == "group's GPUs" {
				sc.user("bob").Groups = sc.user("ann").Groups
				sc.queueJob(4, 1000, small, of(sc.user("bob")), expected(2*time.Hour))
			}
			sc.expect("start 3 on 1")
			w := Waiting{ID: 2, Request: &job.Request{GPUMilli: 1000, MemBytes: 10, CPUs: 2}, Account: sc.user("ann"), Expected: 2 * time.Hour, Count: 1, Since: ago(98 * time.Second)}
			of := "ann"
			if name == "group's GPUs" {
				of = "group lab"
			}
			if why := sc.p.Explain(&w); len(why) == 0 || why[0].Code != job.ReasonQuotaKept || why[0].Job != 1 {
				t.Errorf("%s: %+v", of, why)
			}
		})
	}
}

// If the quota has room for a job besides the earlier job that keeps its place, the job starts,
// however long it runs. A job of another account also starts.
func TestBesideOwnWideJob(t *testing.T) {
	sc := newScene(t, 8)
	sc.user("ann").MaxMilli = 5000
	sc.runJob(90, time.Hour, onGPUs(0)...)
	sc.runJob(91, time.Hour, onGPUs(1)...)
	sc.count()
	sc.queueJob(1, 4000)
	sc.queueJob(2, 1000, expected(9*time.Hour))
	sc.queueJob(3, 1000, expected(9*time.Hour))
	sc.queueJob(4, 1000, expected(9*time.Hour), of(sc.user("bob")))
	sc.expect("start 2 on 2, start 4 on 3")
}

// No place is kept for a job that can't start for other reasons: its GPU-hours are used up, its
// account is barred, it alone exceeds the quota, or there are too few GPUs for it.
func TestNoPlaceInQuotas(t *testing.T) {
	for name, change := range map[string]func(*scene, *Waiting){
		"hours":   func(sc *scene, w *Waiting) { w.Account.MaxUsage = time.Hour },
		"above":   func(sc *scene, w *Waiting) { w.Account.MaxMilli = 3000 },
		"no GPUs": func(sc *scene, w *Waiting) { w.Request.GPUType = "h100" },
	} {
		t.Run(name, func(t *testing.T) {
			sc := newScene(t, 6)
			sc.s.Policy.HalfLife = week
			ann := sc.user("ann")
			ann.MaxMilli = 4000
			sc.runJob(90, time.Hour, onGPUs(0)...)
			sc.count()
			sc.queueJob(1, 4000, func(w *Waiting) { change(sc, w) })
			if name == "hours" {
				ann.Restore(2*time.Hour, noon)
				sc.queueJob(2, 0, expected(2*time.Hour))
				sc.expect("start 2 on none")
				return
			}
			sc.queueJob(2, 1000, expected(2*time.Hour))
			sc.expect("start 2 on 1")
		})
	}
}

// A job with a reservation also keeps its place in quotas. Jobs that end after its reserved start
// must leave room for it in the quotas. Jobs that end before that start need not.
func TestReservedKeepsItsPlace(t *testing.T) {
	sc := newScene(t, 6)
	ann, bob := sc.user("ann"), sc.user("bob")
	ann.MaxJobs = 1
	sc.runJob(90, time.Hour, onGPUs(0, 1)...).Account = bob
	sc.count()
	sc.queueJob(1, 5000)
	sc.queueJob(2, 1000, expected(2*time.Hour))
	sc.queueJob(3, 0, expected(9*time.Hour))
	sc.expect("keep 0+1+2+3+4 for 1 at +1h0m0s")
	sc.queueJob(4, 1000, expected(30*time.Minute))
	sc.expect("start 4 on 2, keep 0+1+2+3+4 for 1 at +1h0m0s")
}

// If an array's throttle holds back its tasks, they keep no place in quotas. If the throttle lets a
// task start, a later job of the account waits for that task.
func TestArrayKeepsItsPlace(t *testing.T) {
	sc := newScene(t, 6)
	sc.user("ann").MaxMilli = 4000
	sc.runJob(90, time.Hour, onGPUs(0)...)
	sc.count()
	gate := atMost(0)
	sc.queueJob(1, 4000, func(w *Waiting) { w.Throttle, w.Count = gate, 3 })
	sc.queueJob(2, 1000, expected(2*time.Hour))
	sc.expect("start 2 on 1")
	gate.Limit = 1
	sc.expect("wait")
}

// If CPUs are kept for an earlier job, that does not hold back a job that names no number of CPUs.
func TestImpliedCPUsBesideOwnJob(t *testing.T) {
	sc := newScene(t, 4)
	sc.user("ann").MaxCPUs = 8
	sc.s.Host.CPUs, sc.s.Host.GPUCPUs = 16, 16
	r := sc.runJob(90, time.Hour, onGPUs(0)...)
	r.CPUs = 4
	sc.s.Host.PromisedCPUs = 4
	sc.count()
	sc.queueJob(1, 1000, asks(func(r *job.Request) { r.CPUs = 6 }))
	sc.queueJob(2, 1000, expected(2*time.Hour))
	if plan := sc.p.Plan(&sc.s, sc.q); len(plan.Place) != 1 || plan.Place[0].CPUs != 2 {
		t.Errorf("%+v", plan.Place)
	}
}

// If a job waits for another job of its own account, no running job is stopped for the waiting one.
func TestNoStopForAJobBehindItsOwn(t *testing.T) {
	sc := newScene(t, 4)
	sc.s.Policy.Slice = 30 * time.Minute
	sc.user("ann").MaxMilli = 3000
	sc.runJob(90, 2*time.Hour, onGPUs(0)...)
	r := sc.runJob(91, 9*time.Hour, onGPUs(1, 2, 3)...)
	r.Account, r.Preemptible, r.Priority.Class = sc.user("bob"), true, job.Scavenger
	sc.count()
	sc.queueJob(1, 3000)
	sc.queueJob(2, 1000, expected(9*time.Hour))
	sc.expect("wait")
	sc.queueJob(3, 1000, expected(time.Hour))
	sc.expect("keep 0 for 3 at +2h0m0s, stop 91 for 3")
}

// A job may ask for all of its account's quota. It starts, although small jobs of the same account
// come in an endless stream that exceeds the quota. The time at quotas does not count as waiting.
func TestStartsDespiteOwnStream(t *testing.T) {
	for name, quota := range map[string]func(*Account){
		"GPUs":   func(a *Account) { a.MaxMilli = 4000 },
		"memory": func(a *Account) { a.MaxMem = 4 * gib },
		"group": func(a *Account) {
			a.Groups = []*Account{{UID: -1, Name: "lab", MaxMilli: 4000}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLoop(t, 1, 6, Policy{HalfLife: week, GuardAfter: week, GuardPercent: 50, ReservationDepth: 1, Slice: 30 * time.Minute})
			l.capped = true
			ann := &Account{UID: 1001, Name: "ann"}
			quota(ann)
			var wide *loopJob
			for i := range 900 {
				if i == 60 {
					wide = l.add(10*time.Hour, ann, job.Request{GPUMilli: 4000, MemBytes: 4 * gib}, time.Hour)
				}
				l.add(time.Duration(i)*10*time.Minute, ann, job.Request{GPUMilli: 1000, MemBytes: gib}, time.Hour)
			}
			l.runUntil(noon.Add(100 * time.Hour))
			if waited := time.Duration(wide.first - wide.came); wide.first == 0 || waited > 48*time.Hour {
				t.Errorf("it waited for %s", waited)
			}
		})
	}
}
