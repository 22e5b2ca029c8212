package dst

import (
	"slices"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units"
)

// observe judges what the core decided in one step.
func (w *World) observe(ev core.Event, eff core.Effects, c *core.Core) {
	w.noteEvent(ev, &eff)
	if w.tracing {
		w.tellStep(ev, &eff)
	}
	_, listing := ev.(core.Listed)
	placed, back := w.judgeDecided(&eff, listing)
	w.noteActions(&eff)
	w.judgeReplay(&eff, c)
	for _, n := range back {
		w.judgeMemory(n)
	}
	for _, n := range placed {
		w.judgeQuota(n)
		w.judgeHours(n)
		w.judgeMemory(n)
		w.judgeDependencies(n)
	}
	w.follow()
	if err := c.Check(); err != nil {
		w.breach(10, "%v", err)
	}
}

// noteEvent notes what the core is told in one step.
func (w *World) noteEvent(ev core.Event, eff *core.Effects) {
	j := w.tracked
	switch e := ev.(type) {
	case core.Sampled:
		j.told, j.toldAt = &e.Snap, w.Elapsed
		j.uses.recordSample(w, &e.Snap)
		w.seeStrays(&e.Snap)
	case core.Configured:
		j.policy = e.Policy
	case core.Inspected:
		started := slices.ContainsFunc(eff.Actions, func(a core.Action) bool { _, is := a.(core.Start); return is })
		if e.OK && e.Unit.Phase == core.Absent && !started {
			w.changeInLine(e.Job)
		}
	case core.Command:
		for _, r := range eff.Records {
			if r.GPU != nil && e.What.Kind == job.CommandResumeGPU {
				j.excused[r.GPU.UUID] = w.Elapsed
			}
		}
		w.judgeUpdate(&e, eff)
	}
}

// judgeDecided judges the records of a step. It returns the jobs that it placed, and the parked jobs
// that it gave their GPUs back.
func (w *World) judgeDecided(eff *core.Effects, listing bool) (placed, back []*job.Job) {
	for _, r := range eff.Records {
		switch {
		case r.GPU != nil:
			w.tracked.controls[r.GPU.UUID] = *r.GPU
		case r.Job != nil:
			if w.judgePark(r.Job, listing) {
				back = append(back, r.Job)
			}
			if w.judgeJob(r.Job) {
				placed = append(placed, r.Job)
			}
		}
	}
	for _, r := range eff.Records {
		if r.Usage != nil { // a record of use may include a job whose end is recorded later
			w.judgeUsage(r.Usage)
		}
	}
	return placed, back
}

// judgeJob judges a decision about a job, and reports whether it placed the job.
func (w *World) judgeJob(n *job.Job) (placed bool) {
	j := w.tracked
	w.judgeStopFor(n)
	w.noteRecord(n)
	if j.states[n.ID] == "" && n.Task == nil && !n.Recovered {
		w.judgeAdmitted(n)
	}
	if a := n.Attempt; a != nil && a.Number > j.attempts[n.ID] {
		j.attempts[n.ID] = a.Number
		r := w.runs[units.Name(int64(n.ID))] // even with an older state file the daemon finds the job's unit
		found := w.tracked.lost && r != nil && r.attempt == a.Number
		if placed = !n.Recovered && !found; placed {
			w.judgePlacement(n)
		}
	}
	over := n.State.Terminal() && !j.states[n.ID].Terminal()
	if over && n.Task != nil && n.State != job.Completed && n.State != job.Cancelled {
		j.failed[n.Task.Array]++
	}
	j.states[n.ID] = n.State
	return placed
}

// noteActions notes the warnings of a step, and the attempts that the step decided to stop.
func (w *World) noteActions(eff *core.Effects) {
	j := w.tracked
	for _, a := range eff.Actions {
		switch a := a.(type) {
		case core.NotifyOwner:
			j.uses.recordWarning(w, a)
		case core.Stop:
			if key := attemptKey(a.Job, a.Attempt); a.InspectFirst && j.stops[key] == 0 {
				j.stops[key] = w.Elapsed
			}
		}
	}
}
