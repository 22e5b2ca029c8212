package sched

import (
	"flag"
	"fmt"
	"reflect"
	"runtime/debug"
	"slices"
	"testing"

	"github.com/gpusched/gpusched/daemon/job"
)

var (
	states = flag.Uint64("states", 100_000, "how many random states TestReference compares")
	first  = flag.Uint64("first", 0, "the seed of the first of them")
)

// tally counts what happened in the drawn states. It shows whether the draws had any effect.
type tally struct{ placed, guarded, kept, preempted, together, held, parked, returned int }

func (c *tally) add(p *Plan, d *randomMachine) {
	for _, x := range p.Place {
		c.placed++
		if x.Guarded {
			c.guarded++
		}
		if d.waiting[x.Job-1].Returns {
			c.returned++
		}
	}
	c.kept += len(p.Backfill)
	c.preempted += len(p.Preempt)
	for _, v := range p.Preempt {
		if v.Park {
			c.parked++
		}
	}
	if len(p.Place) > 0 && len(p.Backfill) > 0 && len(p.Preempt) > 0 {
		c.together++
	}
}

// TestReference checks invariant 7 on random states. It also checks invariants 1 to 6, and that
// every job that continues to wait has a reason.
func TestReference(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	var c tally
	p := NewPlanner()
	n := int(drawing(drawing(*states)))
	for seed := *first; seed < *first+uint64(n) && !t.Failed(); seed++ {
		if err := compare(p, draw(seed), &c); err != nil {
			t.Errorf("seed %d (go test -run TestReference -first=%d -states=1): %v", seed, seed, err)
		}
	}
	if n >= 1000 && (c.placed < n/2 || c.guarded < n/50 || c.kept < n/4 || c.preempted < n/21 || c.together < n/100 || c.held < n/300 || c.parked < n/100 || c.returned < n/100) {
		t.Errorf("%d states led to %+v only", n, c)
	}
}

// compare makes a plan, carries it out, and plans again.
func compare(p *Planner, d *randomMachine, c *tally) error {
	r := newReference(&d.s, d.waiting)
	p.maxFailedShapes, r.most = d.most, d.most
	p.walk.siftAfter = d.sift
	r.placeAll()
	c.held += len(r.held)
	if err := r.checkConserved(); err != nil {
		return err
	}
	r.preemptAll()
	plan := p.Plan(&d.s, d.q)
	c.add(plan, d)
	if err := comparePlan(p, plan, r); err != nil {
		return err
	}
	if err := d.checkVictims(plan); err != nil {
		return err
	}
	if again := comparePlan(p, p.Plan(&d.s, d.q), r); again != nil {
		return fmt.Errorf("planned once more: %w", again)
	}
	if err := d.carryOut(plan.Place); err != nil {
		return err
	}
	return d.planAgain(p, r)
}

// planAgain makes a second plan at the same moment, after the first one was carried out.
func (d *randomMachine) planAgain(p *Planner, before *reference) error {
	r := newReference(&d.s, d.waitingJobs())
	r.most = d.most
	r.decide()
	plan := p.Plan(&d.s, d.q)
	if err := comparePlan(p, plan, r); err != nil {
		return fmt.Errorf("second pass: %w", err)
	}
	if len(plan.Place) > 0 && len(before.kept) == 0 && len(before.held) == 0 {
		return fmt.Errorf("a second pass places %+v", plan.Place)
	}
	if err := d.checkReservation(before, r); err != nil {
		return err
	}
	if len(plan.Place) > 0 {
		return nil // Explain is defined only if nothing is left to carry out
	}
	return checkReasons(p, r)
}

// comparePlan compares a plan with that of the reference.
func comparePlan(p *Planner, plan *Plan, r *reference) error {
	if len(plan.Place)+len(r.place) > 0 && !reflect.DeepEqual(normalize(plan.Place), normalize(r.place)) {
		return fmt.Errorf("placed\n%+v, the reference\n%+v", plan.Place, r.place)
	}
	var kept []BackfillReservation
	for i, k := range r.kept {
		kept = append(kept, BackfillReservation{Job: k.id, At: k.at})
		if i < len(p.backfill.list) && p.backfill.list[i].late != k.late {
			return fmt.Errorf("late start of job %d: %d, the reference %d", k.id, p.backfill.list[i].late, k.late)
		}
		if i < len(p.backfill.list) && !slices.Equal(p.backfill.list[i].grants, k.grants) {
			return fmt.Errorf("kept %+v for job %d, the reference %+v", p.backfill.list[i].grants, k.id, k.grants)
		}
	}
	if !slices.Equal(plan.Backfill, kept) {
		return fmt.Errorf("kept %+v, the reference %+v", plan.Backfill, kept)
	}
	if !slices.Equal(plan.Preempt, r.preempt) {
		return fmt.Errorf("preempted %+v, the reference %+v", plan.Preempt, r.preempt)
	}
	return nil
}

// normalize replaces missing lists of grants by empty ones.
func normalize(list []Placement) []Placement {
	list = slices.Clone(list)
	for i := range list {
		if len(list[i].Grants) == 0 {
			list[i].Grants = nil
		}
	}
	return list
}

// checkConserved checks invariant 4 after all placements. If neither a limit nor another job of its
// account holds a job back, the job must not fit into what is free both now and at the starts of
// those reservations that the job would delay.
func (r *reference) checkConserved() error {
	for _, j := range r.jobs {
		if r.stillWaits(j) && r.hasRoomFor(j.Waiting, r.leftFor(j), r.s.Now, whenNow) && !r.behindOwn(j) && !slices.Contains(r.held, j.ID) {
			return fmt.Errorf("job %d fits and is not placed", j.ID)
		}
	}
	return nil
}

// checkReservation checks invariant 5 for the first reservation. The reservation may move to a
// later time, but not beyond the late ends of jobs. Another job may have the first reservation
// instead only if that job goes before the reserved job. The reservation may vanish if the
// placements used up the job's quota or throttle, or left these to an earlier job of its account.
// The check leaves out states with preemptible jobs, and jobs that start on GPUs of an advance
// reservation of their own.
func (d *randomMachine) checkReservation(before, now *reference) error {
	if len(before.kept) == 0 || d.stoppable || d.most < maxFailedShapes {
		return nil
	}
	k := before.kept[0]
	for _, x := range before.place {
		for _, g := range x.Grants {
			if before.ownsGPU(d.waiting[x.Job-1].Account, g.GPU) && !before.ownsGPU(k.then.Account, g.GPU) {
				return nil
			}
		}
	}
	at := slices.IndexFunc(now.jobs, func(j refJob) bool { return j.ID == k.id })
	if j := now.jobs[at]; j.Throttle.Full() != nil || now.capped(j.Waiting) || now.behindOwn(j) {
		return nil
	}
	if len(now.kept) == 0 || now.kept[0].id == k.id && now.kept[0].at > d.latestStart(k) {
		return fmt.Errorf("kept for %d at %d, and after the placements %+v", k.id, k.at, now.kept)
	}
	if other := slices.IndexFunc(now.jobs, func(j refJob) bool { return j.ID == now.kept[0].id }); other > at {
		return fmt.Errorf("kept for %d, and after the placements for %d, which comes later", k.id, now.kept[0].id)
	}
	return nil
}

// latestStart returns the latest start that a reservation may get because other jobs pass the
// reserved job. That is the latest of these moments: its start with late ends, the moment until
// which late ends count, and the end of each advance reservation that may be in the way.
func (d *randomMachine) latestStart(k refKept) Instant {
	at := max(k.late, k.until)
	for _, v := range d.s.Reserved {
		if at > k.at {
			at = max(at, v.To)
		}
	}
	return at
}

// checkVictims checks five things: each stopped job is preemptible, each parked job can be parked and
// has room for its copy, it has run for its slice, it is a victim only once, and the job for which it
// leaves does not start.
func (d *randomMachine) checkVictims(plan *Plan) error {
	var seen []job.ID
	copies := min(d.s.ParkBytes, d.s.MemLeft(false))
	for _, v := range plan.Preempt {
		r, w, starts := &d.s.Running[v.Victim-1000], d.waiting[v.For-1], 0
		for _, x := range plan.Place {
			if x.Job == v.For {
				starts++
			}
		}
		if v.Park {
			copies -= r.ParkBytes
		}
		mayLeave := r.Preemptible && !v.Park || r.Parks && v.Park && copies >= 0
		if !mayLeave || r.Stopping || noon < max(r.Start, r.Returned).Add(d.s.Policy.Slice) || slices.Contains(seen, v.Victim) || starts >= w.Count {
			return fmt.Errorf("%+v is stopped for %+v, which starts %d times", r, w, starts)
		}
		seen = append(seen, v.Victim)
	}
	return nil
}

// checkReasons checks that a job has reasons if, and only if, it does not fit. It leaves out lanes.
func checkReasons(p *Planner, r *reference) error {
	behind := map[job.ID]bool{}
	for _, j := range r.jobs {
		behind[j.ID] = r.behindOwn(j)
	}
	clear(r.news) // without the starts of jobs that preempt others
	for _, j := range r.jobs {
		fits := !r.cutOff(j) && !r.capped(j.Waiting) && r.hasRoomFor(j.Waiting, r.leftFor(j), noon, whenNow) && !behind[j.ID]
		why := p.Explain(j.Waiting)
		kept := slices.ContainsFunc(why, func(r job.Reason) bool { return r.Code == job.ReasonLaneKept })
		if fits != (len(why) == 0) && !kept {
			return fmt.Errorf("job %d %+v fits: %v, reasons %+v", j.ID, j.Request, fits, why)
		}
	}
	return nil
}
