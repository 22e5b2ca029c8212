package sched

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// scene is a hand-made machine with GPUs of 80 GiB, and a queue. Unless a test says otherwise, the
// policy is strict order with one reservation.
type scene struct {
	*testing.T
	s     Snapshot
	q     *Queue
	p     *Planner
	users map[string]*Account
}

func newScene(t *testing.T, gpus int) *scene {
	sc := &scene{T: t, q: NewQueue(), p: NewPlanner(), users: map[string]*Account{}}
	sc.s = Snapshot{Now: noon, Machine: 1, Policy: Policy{FIFO: true, ReservationDepth: 1}, Host: Host{GPUsSeen: true}}
	for i := range gpus {
		sc.s.GPUs = append(sc.s.GPUs, GPU{
			Index: i, Model: "NVIDIA A100-SXM4-80GB", State: OK, MemTotalBytes: 80 * gib, MemFreeBytes: 80 * gib, UsableBytes: 80 * gib,
		})
	}
	return sc
}

// user returns the account of a name.
func (sc *scene) user(name string) *Account {
	if sc.users[name] == nil {
		sc.users[name] = &Account{UID: 1001 + len(sc.users), Name: name}
	}
	return sc.users[name]
}

// runJob puts a job of ann's on GPUs. The job began an hour before noon, without a wait, and ends
// at the given time after noon.
func (sc *scene) runJob(id job.ID, end time.Duration, grants ...Grant) *Running {
	for _, g := range grants {
		held := &sc.s.GPUs[g.GPU].Held
		*held = append(*held, Hold{Job: id, Milli: g.Milli, PromiseBytes: g.Bytes, Mates: g.Mates})
	}
	sc.s.Running = append(sc.s.Running, Running{
		ID: id, Grants: grants, End: noon + Instant(end), Account: sc.user("ann"), Start: ago(time.Hour), Since: ago(time.Hour), Expected: time.Hour + end,
	})
	r := &sc.s.Running[len(sc.s.Running)-1]
	r.Quota = r.milli()
	return r
}

// onGPUs returns grants of whole GPUs, by position.
func onGPUs(gpus ...int) (list []Grant) {
	for _, g := range gpus {
		list = append(list, Grant{GPU: g, Milli: job.WholeGPU})
	}
	return list
}

// queueJob queues a job of ann's that is expected to run for an hour. The job came 100 - id seconds
// before noon, so jobs come in the order of their ids.
func (sc *scene) queueJob(id job.ID, milli int, change ...func(*Waiting)) {
	w := Waiting{
		ID: id, Request: &job.Request{GPUMilli: milli}, Account: sc.user("ann"), Expected: time.Hour, Count: 1,
		Since: ago(time.Duration(100-id) * time.Second),
	}
	for _, f := range change {
		f(&w)
	}
	sc.q.Push(w)
}

// Each of these functions returns a function that changes a waiting job.
func expected(d time.Duration) func(*Waiting) { return func(w *Waiting) { w.Expected = d } }
func of(a *Account) func(*Waiting)            { return func(w *Waiting) { w.Account = a } }
func asks(f func(*job.Request)) func(*Waiting) {
	return func(w *Waiting) { f(w.Request) }
}

// plan prints what the planner decides, such as "start 4 on 0+500m of 1, keep 0+1 for 5 at +1m40s,
// stop 9 for 5", or "wait".
func (sc *scene) plan() string {
	var list []string
	plan := sc.p.Plan(&sc.s, sc.q)
	for _, x := range plan.Place {
		list = append(list, fmt.Sprintf("start %d on %s", x.Job, name(x.Grants)))
	}
	for i, k := range plan.Backfill {
		list = append(list, fmt.Sprintf("keep %s for %d at +%s", name(sc.p.backfill.list[i].grants), k.Job, time.Duration(k.At-noon)))
	}
	for _, v := range plan.Preempt {
		list = append(list, fmt.Sprintf("stop %d for %d", v.Victim, v.For))
	}
	if len(list) == 0 {
		return "wait"
	}
	return strings.Join(list, ", ")
}

func name(grants []Grant) string {
	var list []string
	for _, g := range grants {
		if g.Milli == job.WholeGPU {
			list = append(list, fmt.Sprint(g.GPU))
		} else {
			list = append(list, fmt.Sprintf("%dm of %d", g.Milli, g.GPU))
		}
	}
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, "+")
}

// expect compares the planner's decision with want.
func (sc *scene) expect(want string) {
	sc.Helper()
	if got := sc.plan(); got != want {
		sc.Errorf("planned: %s\n   want: %s", got, want)
	}
}

// atMost returns the throttle of an array of which n tasks may run at once, and none runs.
func atMost(n int) *Throttle { return &Throttle{Limit: n, Lane: &Lane{}} }
