package core_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/core/accounts"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/gpu"
	"github.com/gpusched/gpusched/units/contract"
)

// unit is a job's unit in the simulated systemd.
type unit struct {
	core.Unit
	attempt int
	gpus    []int
	left    int       // the number of processes that the command left running
	began   time.Time // when the command began, by the world's monotonic clock
	ended   time.Time // when the command ended, by that clock; zero: unknown

	copied   []copied // its processes that are parked
	parkedOn []int    // the GPUs that it had then
}

// runsNow reports whether the unit of the job's current attempt exists and its command runs.
func (w *world) runsNow(j *job.Job) bool {
	u := w.units[j.ID]
	return u != nil && u.attempt == j.Attempt.Number && u.Phase == core.Active
}

// begin carries out an action. Its effect on the world is immediate; answer returns the answer
// later.
func (w *world) begin(a core.Action) {
	switch a := a.(type) {
	case core.Start:
		w.log("start job %d attempt %d on %s", a.Job.ID, a.Job.Attempt.Number, job.FormatGPUList(a.Job.GPUIndexes()))
	case core.Stop:
		w.log("stop job %d%s", a.Job, colon(a.Notice.Say))
	case core.Inspect:
		w.log("inspect job %d", a.Job)
	case core.Signal:
		w.log("signal job %d with %d", a.Job, a.Signal)
	case core.Freeze:
		w.log("freeze job %d %t", a.Job, !a.Thaw)
		if u := w.units[a.Job]; u != nil && !w.busDown {
			u.Frozen = !a.Thaw
		}
		return
	case core.SetMemory:
		w.log("set memory of job %d to %s%s", a.Job, job.FormatSize(a.Limit), slowed(a.High))
		if u := w.units[a.Job]; u != nil && !w.busDown {
			u.MemMax, u.MemHigh = a.Limit, a.High
		}
	case core.Park:
		w.log("park job %d: %d processes, %s", a.Job, len(a.Processes), job.FormatSize(a.Bytes))
		w.copy(&a, false)
	case core.Unpark:
		w.log("unpark job %d", a.Job)
		w.copy((*core.Park)(&a), true)
	case core.Keep:
		return
	case core.NotifyOwner:
		w.log("tell job %d%s", a.Job, colon(a.Say))
		return
	case core.Forget:
		return
	case core.EndProcess:
		w.log("end process %d of job %d with %d", a.PID, a.Job, a.Signal)
		for i := range w.gpus {
			w.drop(i, func(p gpu.Process) bool {
				return p.PID == a.PID && p.Start == a.Start && p.UID == a.UID && (a.Signal == 9 || p.Comm != "stubborn")
			})
		}
		return
	case core.TellStranger:
		w.log("tell uid %d: %s: %v, ends %s", a.UID, a.Say(), a.GPUs, job.FormatMoment(a.Ends))
	case core.Deliver:
		w.send(a)
		return
	case core.Hasten:
		w.log("hasten job %d", a.Job.ID)
		return
	case core.Orphan:
		w.log("orphan unit of job %d", a.Job)
		return
	case core.Reboot:
		w.log("reboot the machine for %s", a.By)
		return
	case core.Collect:
		w.collect(a)
		return
	case core.Prove:
		check := ""
		if a.Check {
			check = " with the site's check"
		}
		w.log("prove GPU %d%s", a.Index, check)
		if w.cuda[a.UUID].Says == "none" { // the test is not answered
			return
		}
	}
	w.pending = append(w.pending, a)
}

func slowed(high int64) string {
	if high == 0 {
		return ""
	}
	return ", slowed above " + job.FormatSize(high)
}

// launch simulates systemd's StartTransientUnit with mode "fail".
func (w *world) launch(j *job.Job) error {
	stored := w.jobs[j.ID]
	if stored.Attempt == nil || stored.Attempt.Number != j.Attempt.Number {
		w.fault("job %d attempt %d starts without being on record", j.ID, j.Attempt.Number)
	}
	if w.units[j.ID] != nil {
		return errExists
	}
	key := fmt.Sprintf("%d/%d", j.ID, j.Attempt.Number)
	if w.runs[key]++; w.runs[key] > 1 {
		w.fault("attempt %s began twice", key)
	}
	for _, ref := range j.Attempt.GPUs {
		g := w.at(ref.Index)
		shares := ref.Share()
		for id, u := range w.units {
			if slices.Contains(u.gpus, ref.Index) && !u.Spent {
				old := w.jobs[id]
				shares += shareOf(&old, ref.Index)
			}
		}
		if shares > job.WholeGPU {
			w.fault("GPU %d is given out to %d milli with job %d", ref.Index, shares, j.ID)
		}
		p := gpu.Process{PID: 1000 + int(j.ID), Unit: fmt.Sprintf("gpujob-%d.service", j.ID)}
		if w.policy.Park.Allow {
			p.Start, p.UsedBytes = uint64(w.invoked)+1, min(cmp.Or(ref.PromiseBytes, 20*gib), int64(g.MemFreeBytes))
		}
		w.put(g, p)
	}
	w.invoked++
	w.units[j.ID] = &unit{
		Unit:    core.Unit{Job: j.ID, Phase: core.Active, Invocation: fmt.Sprintf("inv%d", w.invoked), MemMax: j.Request.MemBytes},
		attempt: j.Attempt.Number, gpus: j.GPUIndexes(), began: w.now.Add(-w.set),
	}
	return nil
}

// answer removes the pending action at position i, and returns the event that answers this action.
func (w *world) answer(i int) core.Event {
	a := w.pending[i]
	w.pending = slices.Delete(w.pending, i, i+1)
	switch a := a.(type) {
	case core.SetMemory:
		u := w.units[a.Job]
		return core.MemorySet{SetMemory: a, OK: !w.busDown && (u == nil || u.MemMax == a.Limit && u.MemHigh == a.High)}
	case core.TellStranger:
		return core.StrangerTold{UID: a.UID}
	case core.Park:
		return w.copyEnds(&a, false)
	case core.Unpark:
		return core.Unparked(w.copyEnds((*core.Park)(&a), true))
	case core.Start:
		if w.unable || w.leaving {
			return core.StartFailed{Job: a.Job.ID, Attempt: a.Job.Attempt.Number, How: core.StartLater, Launch: contract.StepUnit, Detail: "systemd was short of memory or processes"}
		}
		if w.expired[a.Job.Owner.UID] {
			return core.StartFailed{Job: a.Job.ID, Attempt: a.Job.Attempt.Number, How: core.StartBarred, Detail: "the account of " + a.Job.Owner.User + " has expired"}
		}
		if now := w.heirs[a.Job.Owner.UID]; now != "" && now != a.Job.Owner.User {
			failed := core.StartFailed{
				Job: a.Job.ID, Attempt: a.Job.Attempt.Number, How: core.StartGone, Heir: job.Account{UID: a.Job.Owner.UID, User: now},
			}
			switch {
			case now == "?":
				failed.How, failed.Launch, failed.Detail = core.StartLater, contract.StepUnit, "the directory does not answer"
			case job.Nameless(a.Job.Owner.UID, a.Job.Owner.User):
				failed.How = core.StartNamed
			}
			return failed
		}
		if !isIn(w.groups[a.Job.Owner.UID], a.Job.Owner.Groups) {
			w.step(core.Enrolled{Members: []accounts.Member{{UID: a.Job.Owner.UID, Groups: w.groups[a.Job.Owner.UID]}}}, -1)
			return core.StartFailed{Job: a.Job.ID, Attempt: a.Job.Attempt.Number, How: core.StartJoined, Detail: "groups"}
		}
		if w.launch(&a.Job) != nil {
			return core.StartFailed{Job: a.Job.ID, Attempt: a.Job.Attempt.Number, How: core.StartExists}
		}
		if w.busDown {
			return core.StartFailed{Job: a.Job.ID, Attempt: a.Job.Attempt.Number, How: core.StartUnsure}
		}
		return core.Started{Job: a.Job.ID, Attempt: a.Job.Attempt.Number, Unit: w.liveStatus(w.units[a.Job.ID])}
	case core.Stop:
		ev := core.Stopped{Job: a.Job, Attempt: a.Attempt, OK: !w.busDown && !w.stuck[a.Job]}
		if w.stuck[a.Job] {
			ev.Left = "process 4711 did not end after SIGKILL"
			return ev
		}
		if a.InspectFirst {
			if w.isSwept(a.Job) {
				ev.OK = false
				return ev
			}
			ev.Before = w.status(a.Job)
		} else if u := w.units[a.Job]; u != nil {
			ev.Running = u.left
		}
		if !w.busDown {
			w.sweep(a.Job)
		}
		return ev
	case core.Inspect:
		return core.Inspected{Job: a.Job, Attempt: a.Attempt, Early: a.Early, Unit: w.status(a.Job), OK: !w.busDown && !w.isSwept(a.Job)}
	case core.Signal:
		there := w.units[a.Job] != nil
		return core.Signalled{Job: a.Job, Attempt: a.Attempt, OK: !w.busDown && there, Refused: !w.busDown && !there}
	case core.Sample:
		return w.sample(a.Number)
	case core.Prove:
		ev, set := w.cuda[a.UUID]
		if !set {
			ev.Says = gpu.ProofWell
		}
		ev.UUID = a.UUID
		return ev
	}
	panic("no answer to this action")
}

// sweep ends a unit with all its processes. If linger is set, the processes' GPU memory stays in
// use, as if the driver freed it late.
func (w *world) sweep(id job.ID) {
	if u := w.units[id]; u != nil && !w.linger {
		w.clear(u)
	}
	delete(w.units, id)
}

// collect removes the unit of a job that has ended, as the daemon does.
func (w *world) collect(a core.Collect) {
	w.log("collect job %d", a.Job)
	u, j := w.units[a.Job], w.jobs[a.Job]
	switch {
	case u == nil || w.busDown || w.stuck[a.Job]:
	case j.State.Terminal():
		w.sweep(a.Job)
	case a.Listings == 0:
		w.fault("job %d is %s when its unit is collected", a.Job, j.State)
	}
}

func (w *world) clear(u *unit) {
	name := fmt.Sprintf("gpujob-%d.service", u.Job)
	for _, g := range u.gpus {
		w.drop(g, func(p gpu.Process) bool { return p.Unit == name })
	}
}

func colon(list []job.Message) string {
	text := ""
	for _, m := range list {
		text += ": " + m.String()
	}
	return text
}

// liveStatus returns what systemd reports about a unit now. The unit's age is measured by the clock
// that can't be set.
func (w *world) liveStatus(u *unit) core.Unit {
	out := u.Unit
	out.Age = max(1, w.now.Add(-w.set).Sub(u.began))
	if !u.ended.IsZero() {
		out.EndAge = max(1, w.now.Add(-w.set).Sub(u.ended))
	}
	return out
}

func (w *world) status(id job.ID) core.Unit {
	if u := w.units[id]; u != nil {
		return w.liveStatus(u)
	}
	return core.Unit{Job: id}
}

// isSwept reports whether a unit's state may come from a shutdown: systemd stops everything, and
// the unit is not active. The daemon does not report such a unit to the core.
func (w *world) isSwept(id job.ID) bool { return w.leaving && w.status(id).Phase != core.Active }

func unitJob(name string) (job.ID, bool) {
	var id job.ID
	n, _ := fmt.Sscanf(name, "gpujob-%d.service", &id)
	return id, n == 1
}

func (w *world) listed() core.Event {
	ev := core.Listed{Boot: w.bootID(), Run: fmt.Sprintf("%s.%d", w.bootID(), w.soft)}
	for _, id := range slices.Sorted(maps.Keys(w.units)) {
		ev.Units = append(ev.Units, w.liveStatus(w.units[id]))
	}
	return ev
}

// settle answers pending actions, the oldest first, until no action is left.
func (w *world) settle() {
	for len(w.pending) > 0 {
		w.step(w.answer(0), -1)
	}
}

// reboot removes all units and starts a new core from the disk.
func (w *world) reboot() {
	w.boot++
	w.kernel = nil
	w.userspace()
}

// userspace does what happens at any kind of reboot.
func (w *world) userspace() {
	w.leaving = false
	for id := range w.units {
		w.sweep(id)
	}
	w.tidy()
	w.revive()
}

// isIn reports whether each of the names is also in the list others.
func isIn(names, others []string) bool {
	return !slices.ContainsFunc(names, func(n string) bool { return !slices.Contains(others, n) })
}
