package core_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/core/site"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/gpu"
)

// chaos drives a world with random commands and faults. In each step the daemon may die between any
// two effects.
type chaos struct {
	*world
	t     *rapid.T
	trail []string
	old   core.Event // an older listing, which arrives late
}

func newChaos(t *rapid.T, gpus int) *chaos {
	c := &chaos{t: t}
	c.world = newWorld(gpus, func(string, ...any) {})
	c.log = func(format string, args ...any) { c.trail = append(c.trail, fmt.Sprintf(format, args...)) }
	c.policy.HostMemBytes = 64 * gib
	c.policy.HostCPUs, c.policy.GPUCPUs = 16, 9
	c.policy.MaxRunning, c.policy.StartsInFlight = 5, rapid.IntRange(0, 3).Draw(t, "starts")
	c.cuda = map[string]core.Proved{}
	c.policy.Lanes = map[string]int{"site": 2}
	c.policy.Prove = rapid.Bool().Draw(t, "prove")
	c.policy.Usage = site.UsagePolicy{
		Memory: site.Response(rapid.IntRange(0, 2).Draw(t, "memory")), Tolerance: gib, MemoryGrace: 10 * time.Second,
		Idle: site.Response(rapid.IntRange(0, 3).Draw(t, "idle")), IdleAfter: 15 * time.Second, IdleGrace: 10 * time.Second,
	}
	if rapid.Bool().Draw(t, "park") {
		c.policy.Park = site.ParkPolicy{Allow: true, Preempt: rapid.Bool().Draw(t, "preempt"), MaxBytes: rapid.SampledFrom([]int64{0, 30 * gib}).Draw(t, "copies")}
		c.policy.Sched.Slice = time.Minute
	}
	quota := func(name string) job.Quota {
		part := func(most int64) job.Part {
			return rapid.SampledFrom([]job.Part{{}, {Percent: 60}, {Amount: most}}).Draw(t, name)
		}
		return job.Quota{Mem: part(30 * gib), CPUs: part(5), GPUMilli: rapid.SampledFrom([]int{0, 1500, 3000}).Draw(t, name), Running: rapid.IntRange(0, 3).Draw(t, name), GPUHours: rapid.IntRange(0, 1).Draw(t, name)}
	}
	c.policy.Quotas = job.Quotas{Default: quota("each"), Groups: map[string]job.Quota{"lab": quota("lab"), "class": quota("class")}}
	c.restart()
	return c
}

// restart starts a new daemon after the death of the old one.
func (c *chaos) restart() {
	c.trail = append(c.trail, "restart")
	c.old = nil
	c.revive()
	for _, ev := range slices.Clone(c.kernel) {
		c.step(ev, -1)
	}
	c.feed(c.listed())
	c.feed(c.sample(0))
}

// feed gives an event to the core. With a small chance, the daemon dies while it carries out the
// effects.
func (c *chaos) feed(ev core.Event) {
	death := -1
	if rapid.IntRange(0, 9).Draw(c.t, "dies") == 0 {
		death = rapid.IntRange(0, 4).Draw(c.t, "point")
	}
	if !c.step(ev, death) {
		c.trail = append(c.trail, fmt.Sprintf("dies at %d", death))
		c.restart()
		return
	}
	c.sameAfterReplay()
}

// sameAfterReplay checks invariant 9: a core made from the records shows the same jobs.
func (c *chaos) sameAfterReplay() {
	replayed := core.New(c.policy, c.bootID(), c.disk()).View(job.Query{}, c.now)
	live := c.core.View(job.Query{}, c.now)
	if len(replayed.Jobs) != len(live.Jobs) {
		c.fault("%d jobs live, %d after replay", len(live.Jobs), len(replayed.Jobs))
		return
	}
	byID := func(a, b job.JobView) int { return int(a.ID - b.ID) }
	slices.SortFunc(live.Jobs, byID)
	slices.SortFunc(replayed.Jobs, byID)
	for i := range live.Jobs {
		if live.Jobs[i].State == job.Queued { // queued jobs get new estimates only gradually
			replayed.Jobs[i].Expected = live.Jobs[i].Expected
		}
		if r := &replayed.Jobs[i]; r.State == job.Starting && live.Jobs[i].State == job.Queued {
			r.State = job.Queued // the job waits for its user's turn at starting units, and the record does not show that
		}
		if !reflect.DeepEqual(live.Jobs[i].Job, replayed.Jobs[i].Job) {
			c.fault("job %d differs after replay: %+v, %+v", live.Jobs[i].ID, live.Jobs[i].Job, replayed.Jobs[i].Job)
		}
	}
}

func (c *chaos) draw(name string, lo, hi int) int { return rapid.IntRange(lo, hi).Draw(c.t, name) }

// drawOwner draws a user. From job to job, the kernel may report other groups with a quota for the
// user.
func (c *chaos) drawOwner() job.Owner {
	return job.Owner{
		UID: c.draw("uid", 1001, 1002), User: "u",
		Groups: rapid.SampledFrom([][]string{nil, nil, {"lab"}, {"class"}, {"class", "lab"}}).Draw(c.t, "groups"),
	}
}

func (c *chaos) submit() {
	c.token++
	s := job.Submission{
		Owner: c.drawOwner(), Label: job.Label{Name: "j"}, Admin: true,
		Request: job.Request{
			GPUMilli: min(rapid.SampledFrom([]int{0, 250, 500, 1000, 1000, 1500, 2000, 3000}).Draw(c.t, "gpus"), len(c.gpus)*job.WholeGPU),
			MemBytes: int64(c.draw("mem", 0, 20)) * gib, CPUs: max(0, c.draw("cpus", -8, 8)),
			Priority: job.Priority{Number: c.draw("priority", -1, 1)},
		},
	}
	if s.Request.GPUMilli > 0 {
		s.Request.GPUMemBytes = int64(c.draw("gpu-mem", 0, 1)) * 10 * gib
	}
	if c.draw("limited", 0, 3) == 0 {
		s.Request.TimeLimit = job.Span(c.draw("limit", 1, 100)) * job.Span(time.Second)
	}
	c.drawOptions(&s.Request)
	s.Request.Lane = job.Lane(rapid.SampledFrom([]string{"", "", "one", "two=2", "site", "site=1"}).Draw(c.t, "lane"))
	requeue := c.draw("requeue", 0, 1) == 1
	s.Request.Requeue = &requeue
	c.feed(core.Submit{Token: c.token, Submission: s})
}

// drawOptions draws options about how a job starts, ends and is retried.
func (c *chaos) drawOptions(r *job.Request) {
	switch c.draw("life", 0, 10) {
	case 0:
		r.Preemptible = true
	case 1:
		r.Retries = c.draw("retries", 1, 3)
	case 2:
		r.OnTimeout = job.TimeoutRequeue
	case 3:
		r.Begin = c.now.Add(time.Duration(c.draw("begin", 1, 100)) * time.Second)
	case 4:
		r.Hold = true
	case 5:
		kind := rapid.SampledFrom([]job.DependencyKind{job.AfterStart, job.AfterOK, job.AfterFail, job.AfterAny}).Draw(c.t, "after")
		r.After = []job.Dependency{{Kind: kind, Job: job.ID(c.draw("on", 1, len(c.jobs)+1))}}
	case 6:
		r.Array = &job.Array{Ranges: []job.Range{{First: 0, Last: c.draw("tasks", 0, 3), Step: 1}}, Limit: c.draw("at once", 0, 2)}
	case 7:
		r.Dedup = "same"
	case 8:
		r.Objective, r.Batch = job.Makespan, "b"
	}
}

// exit ends the command of a random running unit. systemd's signal may or may not arrive.
func (c *chaos) exit() {
	ids := slices.Sorted(maps.Keys(c.units))
	if len(ids) == 0 {
		return
	}
	u := c.units[rapid.SampledFrom(ids).Draw(c.t, "unit")]
	if u.Phase != core.Exited {
		u.Phase, u.Exit.Code, u.Exit.OOM = core.Exited, c.draw("code", 0, 1), c.draw("oom", 0, 9) == 0
		if u.Spent = c.draw("spent", 0, 1) == 1; u.Spent && !c.linger {
			c.clear(u)
		}
	}
	if c.draw("quiet", 0, 3) > 0 {
		c.feed(core.Changed{Job: u.Job})
	}
}

func (c *chaos) command() {
	c.token++
	id := job.ID(c.draw("job", 1, len(c.jobs)+1))
	who := rapid.SampledFrom([]job.Actor{{Admin: true, User: "root"}, {UID: 1001, User: "u"}, {UID: 1002, User: "u"}}).Draw(c.t, "by")
	what := job.Command{Job: id, Kind: rapid.SampledFrom([]job.CommandKind{
		job.CommandCancel, job.CommandHold, job.CommandRelease, job.CommandRequeue, job.CommandUpdate,
	}).Draw(c.t, "command")}
	if what.Kind == job.CommandUpdate {
		milli, priority := c.draw("to", 0, len(c.gpus))*job.WholeGPU, job.Priority{Number: c.draw("number", -1, 1)}
		what.Change = &job.Change{GPUMilli: &milli, Priority: &priority}
		switch c.draw("change", 0, 7) {
		case 0:
			what.Change = &job.Change{ArrayLimit: new(c.draw("at once", 0, 2))}
		case 1:
			what.Change = &job.Change{TimeLimit: new(job.Span(c.draw("limit", 0, 100)) * job.Span(time.Second)), GPUMilli: new(c.draw("quarters", 0, 4*len(c.gpus)) * 250)}
		case 5, 6:
			what.Change = &job.Change{MemBytes: new(int64(c.draw("mem", 1, 30)) * gib)}
			what.MemUsed = int64(c.draw("used", 0, 4)) * gib
		case 7:
			what.Change = &job.Change{Lane: new(job.Lane(rapid.SampledFrom([]string{"", "one", "two=2"}).Draw(c.t, "new lane")))}
		case 2, 3:
			what.Change = &job.Change{After: &[]job.Dependency{{Kind: job.AfterOK, Job: job.ID(c.draw("on", 1, len(c.jobs)+1))}}}
		}
	}
	if what.Kind == job.CommandCancel && c.draw("one task", 0, 1) == 1 {
		what.Task = new(c.draw("task", 0, 3))
	}
	var held string
	if l, yes := c.jobs[id]; yes {
		held = l.Held
	}
	c.feed(core.Command{Token: c.token, Who: who, What: what})
	if j, yes := c.jobs[id]; yes && held == "root" && j.State == job.Queued && j.Held != "root" && !who.Admin {
		c.fault("what root held of job %d is undone by %d", id, who.UID)
	}
}

func (c *chaos) control() {
	if len(c.gpus) == 0 {
		return
	}
	c.token++
	kind := rapid.SampledFrom([]job.CommandKind{job.CommandPauseGPU, job.CommandResumeGPU}).Draw(c.t, "kind")
	c.feed(core.Command{Token: c.token, What: job.Command{Kind: kind, GPU: c.draw("gpu", 0, len(c.gpus)-1)}})
}

// changeReport changes what the driver reports about the GPUs.
func (c *chaos) changeReport() {
	c.problem = rapid.SampledFrom([]gpu.Problem{"", "", gpu.ProblemStale}).Draw(c.t, "problem")
	if len(c.gpus) > 0 {
		g := &c.gpus[c.draw("gpu", 0, len(c.gpus)-1)]
		g.Health = rapid.SampledFrom([]gpu.Health{gpu.HealthOK, gpu.HealthOK, gpu.HealthLost}).Draw(c.t, "health")
		g.MemUsedBytes = uint64(c.draw("ghost", 0, 2)) * 35 * gib
		g.MemFreeBytes = g.MemTotalBytes - g.MemReservedBytes - g.MemUsedBytes
		says := rapid.SampledFrom([]gpu.Proof{gpu.ProofWell, gpu.ProofWrongSums, gpu.ProofUnknown, "none"}).Draw(c.t, "cuda")
		c.cuda[g.UUID] = core.Proved{Says: says}
	}
	c.feed(c.sample(0))
}

// logError makes the driver write an error to the kernel's log.
func (c *chaos) logError() {
	if len(c.gpus) == 0 {
		return
	}
	code := rapid.SampledFrom([]int{13, 31, 45, 48, 63, 79, 109, gpu.XidRecovery}).Draw(c.t, "code")
	ev := c.xid(c.draw("gpu", 0, len(c.gpus)-1), fmt.Sprintf("%d, pid=%d, from 0x1 to 0x%d", code, c.draw("pid", 1000, 1010), c.draw("advice", 0, 2)))
	ev.Job = job.ID(c.draw("its job", 0, 5))
	c.feed(ev)
}

func (c *chaos) pass() {
	c.now = c.now.Add(time.Duration(c.draw("seconds", 0, 60)) * time.Second)
	c.feed(core.Tick{Retry: c.draw("retry", 0, 1) == 1})
}

func (c *chaos) answerOne() {
	if len(c.pending) > 0 {
		c.feed(c.answer(c.draw("which", 0, len(c.pending)-1)))
	}
}

func (c *chaos) act() {
	switch c.draw("act", 0, 23) {
	case 0, 1, 2:
		c.submit()
	case 3, 4:
		c.exit()
	case 5:
		c.command()
	case 6:
		c.control()
	case 7:
		c.changeReport()
	case 8:
		c.pass()
	case 9:
		c.busDown = !c.busDown
		c.unable = c.draw("unable", 0, 3) == 0
		c.linger = c.draw("linger", 0, 2) == 0
		c.expired[1001] = c.draw("expired", 0, 3) == 0
		c.stuck[job.ID(c.draw("stuck", 1, 5))] = c.draw("is", 0, 1) == 1
		c.tidy()
	case 10:
		c.list()
	case 11:
		if c.draw("boot", 0, 4) == 0 {
			c.boot++
			c.kernel = nil
			clear(c.units)
			c.tidy()
		}
		c.restart()
	case 12:
		c.logError()
	case 13, 14:
		c.occupy()
	case 15:
		c.leaving = !c.leaving
		c.feed(core.Leaving{Not: !c.leaving})
	case 16:
		by := rapid.SampledFrom([]time.Duration{-48 * time.Hour, -time.Minute, time.Minute, 48 * time.Hour}).Draw(c.t, "clock")
		c.now, c.set = c.now.Add(by), c.set+by
		c.feed(core.Tick{Clock: by})
	case 17:
		c.soft++
		c.userspace()
		c.restart()
	case 18, 19:
		c.park()
	default:
		c.answerOne()
	}
}

// park parks a running job or makes a parked one wait for its GPUs, or changes how the driver ends
// copies.
func (c *chaos) park() {
	var live []job.ID
	for _, id := range slices.Sorted(maps.Keys(c.jobs)) {
		if c.jobs[id].State == job.Running {
			live = append(live, id)
		}
	}
	if len(live) == 0 {
		return
	}
	id := rapid.SampledFrom(live).Draw(c.t, "parked")
	kind := job.CommandPark
	switch j := c.jobs[id]; {
	case j.Park == job.IsParked:
		kind = job.CommandUnpark
	case j.Park != "":
		c.fates[id] = fate{core.ParkEnd(c.draw("ends", 0, 3)), "no"}
		c.feed(core.Tick{Retry: true})
		return
	}
	c.token++
	c.feed(core.Command{Token: c.token, Who: job.Actor{Admin: true, User: "root"}, What: job.Command{Job: id, Kind: kind}})
}

// list feeds a new listing, or an older one that arrives late.
func (c *chaos) list() {
	if c.old != nil {
		c.feed(c.old)
		c.old = nil
		return
	}
	if c.draw("late", 0, 1) == 1 {
		c.old = c.listed()
		return
	}
	c.feed(c.listed())
}

// recover ends all faults and lets all jobs run to their ends.
func (c *chaos) recover() {
	c.busDown, c.unable, c.linger = false, false, false
	clear(c.cuda)
	clear(c.fates)
	c.problem = ""
	clear(c.expired)
	if clear(c.stuck); c.leaving {
		c.leaving = false
		c.step(core.Leaving{Not: true}, -1)
	}
	const ahead = 30 * 24 * time.Hour // all begin times are earlier than that, even those by a wrong clock
	c.now, c.set = c.now.Add(ahead), c.set+ahead
	c.step(core.Tick{Clock: ahead}, -1)
	c.tidy()
	c.policy.Quotas = job.Quotas{}
	c.step(core.Configured{Policy: c.policy}, -1)
	c.step(c.listed(), -1)
	for i := range c.gpus {
		g := &c.gpus[i]
		g.Health, g.MemUsedBytes, g.MemFreeBytes = gpu.HealthOK, 0, g.MemTotalBytes-g.MemReservedBytes
		for k := range g.Processes {
			g.Processes[k].UsedBytes = 0
		}
	}
	c.step(c.sample(0), -1)
	for i := range c.gpus {
		c.token++
		c.step(core.Command{Token: c.token, What: job.Command{Kind: job.CommandResumeGPU, GPU: i}}, -1)
	}
	for id, j := range c.jobs {
		if j.Held != "" {
			c.token++
			c.step(core.Command{Token: c.token, Who: job.Actor{Admin: true}, What: job.Command{Kind: job.CommandRelease, Job: id}}, -1)
		}
	}
	for range 60 + 12*len(c.jobs) {
		c.settle()
		for _, u := range c.units {
			u.Phase, u.Spent = core.Exited, true
		}
		c.now = c.now.Add(10 * time.Second)
		c.step(c.listed(), -1)
		c.step(c.sample(^uint64(0)), -1)
		c.step(core.Tick{Retry: true}, -1)
	}
}

func (c *chaos) check() {
	if len(c.faults) > 0 {
		c.t.Fatalf("%s\n%s", strings.Join(c.faults, "\n"), strings.Join(c.trail, "\n"))
	}
}

// TestChaos checks invariants 1 to 9, and the limits of lanes. The functions Check and launch verify the capacity, and that
// a job gets all its GPUs or none. The function launch verifies that each attempt starts exactly
// once. The functions launch and reply verify that records are on disk before actions and replies.
// The test also makes cores from the records, and verifies that every acknowledged job ends exactly
// once after the faults stop.
func TestChaos(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newChaos(t, rapid.IntRange(0, 4).Draw(t, "machine"))
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			c.act()
			c.check()
		}
		c.recover()
		c.check()
		for id, j := range c.jobs {
			if !j.State.Terminal() {
				t.Fatalf("job %d never ends: %s\n%s", id, j.State, strings.Join(c.trail, "\n"))
			}
		}
		if len(c.units) > 0 {
			t.Fatalf("%d units are left", len(c.units))
		}
	})
}

// The same events give the same effects.
func TestDeterminism(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var events []core.Event
		a := newWorld(3, func(string, ...any) {})
		for i := range rapid.IntRange(1, 40).Draw(t, "jobs") {
			events = append(events, core.Submit{Token: core.Token(i), Submission: job.Submission{
				Owner: job.Owner{UID: 1}, Label: job.Label{Name: "j"}, Admin: true,
				Request: job.Request{
					GPUMilli: rapid.IntRange(0, 3).Draw(t, "gpus") * job.WholeGPU,
					Priority: job.Priority{Number: rapid.IntRange(0, 2).Draw(t, "priority")},
				},
			}})
		}
		events = append(events, a.listed(), a.sample(0))
		run := func() (out []core.Effects) {
			c := core.New(a.policy, "boot1", job.Restored{})
			for _, ev := range events {
				out = append(out, c.Step(ev, a.now))
			}
			return out
		}
		if first, again := run(), run(); !reflect.DeepEqual(first, again) {
			t.Fatalf("the same events gave different effects")
		}
	})
}
