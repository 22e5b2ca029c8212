package sched

import (
	"flag"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/gpusched/gpusched/daemon/job"
)

var (
	states = flag.Uint64("states", 100_000, "how many random states TestReference compares")
	first  = flag.Uint64("first", 0, "the seed of the first of them")
)

// TestReference holds invariant 7 on random states, and on the way 1 to 6 and
// that every job left over has a reason.
func TestReference(t *testing.T) {
	p := NewPlanner()
	for seed := *first; seed < *first+*states && !t.Failed(); seed++ {
		if err := compare(p, draw(seed)); err != nil {
			t.Errorf("seed %d (go test -run TestReference -first=%d -states=1): %v", seed, seed, err)
		}
	}
}

// compare plans, carries the plan out and plans again.
func compare(p *Planner, d *drawn) error {
	r := newReference(&d.s, d.waiting)
	r.decide()
	plan := p.Plan(&d.s, d.q)
	if err := sameAs(plan, r); err != nil {
		return err
	}
	if err := d.victims(plan); err != nil {
		return err
	}
	if again := sameAs(p.Plan(&d.s, d.q), r); again != nil {
		return fmt.Errorf("planned once more: %w", again)
	}
	kept := slices.Clone(plan.Kept)
	if err := d.carryOut(plan.Place); err != nil {
		return err
	}
	after := newReference(&d.s, d.left())
	after.decide()
	plan = p.Plan(&d.s, d.q)
	if err := sameAs(plan, after); err != nil {
		return fmt.Errorf("second pass: %w", err)
	}
	if len(plan.Place) > 0 && len(kept) == 0 { // a reservation that lapsed leaves room
		return fmt.Errorf("a second pass places %+v, keeps %+v after %+v", plan.Place, plan.Kept, kept)
	}
	if err := d.undelayed(kept, plan.Kept, after); err != nil {
		return err
	}
	if len(plan.Place) > 0 {
		return nil // not carried out, as Explain wants it
	}
	return explained(p, d, after)
}

// lapsed tells whether a reservation ended with the pass that made it: what was
// placed after it has used up its job's quota or array.
func (d *drawn) lapsed(kept []Kept, after *reference) bool {
	return slices.ContainsFunc(kept, func(k Kept) bool {
		w := d.waiting[k.Job-1]
		return w.Gate != nil && w.Gate.Left <= 0 || after.capped(w)
	})
}

// undelayed is invariant 5 for the first reservation. It ends where the job's
// quota or array is used up by now, and does not bind jobs that may be stopped.
// A job before it that only a GPU's load kept from starting may have got one.
// One for this very moment, which waits for what is just coming back, is not
// looked at.
func (d *drawn) undelayed(before, now []Kept, after *reference) error {
	if len(before) == 0 || d.stoppable || before[0].At <= d.s.Now {
		return nil
	}
	if d.lapsed(before, after) {
		return nil
	}
	w := d.waiting[before[0].Job-1]
	if len(now) == 0 || now[0].Job == w.ID && now[0].At > before[0].At {
		return fmt.Errorf("kept for %+v, and after the placements %+v", before, now)
	}
	return nil
}

func sameAs(plan *Plan, r *reference) error {
	if len(plan.Place)+len(r.place) > 0 && !reflect.DeepEqual(normal(plan.Place), normal(r.place)) {
		return fmt.Errorf("placed\n%+v, the reference\n%+v", plan.Place, r.place)
	}
	var kept []Kept
	for _, k := range r.kept {
		kept = append(kept, Kept{Job: k.id, At: k.at})
	}
	if !slices.Equal(plan.Kept, kept) {
		return fmt.Errorf("kept %+v, the reference %+v", plan.Kept, kept)
	}
	return nil
}

// normal gives jobs without a GPU a list of none.
func normal(list []Placement) []Placement {
	list = slices.Clone(list)
	for i := range list {
		if len(list[i].Grants) == 0 {
			list[i].Grants = nil
		}
	}
	return list
}

// left returns the jobs that still wait.
func (d *drawn) left() (list []*Waiting) {
	for _, w := range d.waiting {
		if w.Count > 0 {
			list = append(list, w)
		}
	}
	return list
}

// carryOut does what a plan says and checks invariants 1 to 3 and 6.
func (d *drawn) carryOut(place []Placement) error {
	for _, x := range place {
		w := d.waiting[x.Job-1]
		if err := d.gang(w, x.Grants); err != nil {
			return err
		}
		for _, g := range x.Grants {
			if err := d.hold(w, g); err != nil {
				return err
			}
		}
		d.q.Take(x.Job)
		d.started(w, x.Grants)
		if w.Count < 0 || w.Gate != nil && w.Gate.Left < 0 {
			return fmt.Errorf("job %d starts more often than it may", w.ID)
		}
	}
	if h := &d.s.Host; len(place) > 0 && (h.MaxRunning > 0 && h.Running > h.MaxRunning) {
		return fmt.Errorf("%d jobs run of %d", h.Running, h.MaxRunning)
	}
	return d.quotas(place)
}

// gang is invariant 2.
func (d *drawn) gang(w *Waiting, grants []Grant) error {
	sum, last := 0, -1
	var indexes []int
	for _, g := range grants {
		if g.GPU <= last {
			return fmt.Errorf("job %d gets %+v: not ascending", w.ID, grants)
		}
		last = g.GPU
		sum += g.Milli
		indexes = append(indexes, d.s.GPUs[g.GPU].Index)
	}
	if r := w.Request; sum != r.GPUMilli || len(grants) != r.Devices() || len(r.GPUIDs) > 0 && !slices.Equal(indexes, r.GPUIDs) {
		return fmt.Errorf("job %d asks %d milli of %v, gets %+v", w.ID, w.Request.GPUMilli, w.Request.GPUIDs, grants)
	}
	return nil
}

// hold puts a part of the job on a GPU: invariants 1 and 3.
func (d *drawn) hold(w *Waiting, grant Grant) error {
	g := &d.s.GPUs[grant.GPU]
	if g.State != OK || grant.Milli == job.WholeGPU && len(g.Held) > 0 || g.share() < grant.Milli {
		return fmt.Errorf("job %d gets %+v of %+v", w.ID, grant, g)
	}
	slack := g.SlackBytes
	if w.Request.GPUMemBytes > 0 || grant.Milli == job.WholeGPU {
		slack = 0
	}
	if g.free()+slack < grant.Bytes || grant.Bytes < w.Request.GPUMemBytes {
		return fmt.Errorf("job %d gets %+v of %+v, which has %d bytes free", w.ID, grant, g, g.free())
	}
	g.Held = append(slices.Clone(g.Held), Hold{Job: w.ID, Milli: grant.Milli, PromiseBytes: grant.Bytes})
	return nil
}

func (d *drawn) started(w *Waiting, grants []Grant) {
	d.s.Host.Running++
	d.s.Host.PromisedMem += w.Request.MemBytes
	d.s.Running = append(d.s.Running, Running{
		ID: w.ID, Grants: slices.Clone(grants), MemBytes: w.Request.MemBytes, Priority: w.Request.Priority, Account: w.Account,
		End: noon.Add(runTime(runLog(w.Expected), w.Request.TimeLimit)), Since: w.Since, Start: noon, Expected: w.Expected,
	})
	for _, a := range append([]*Account{w.Account}, w.Account.Groups...) {
		a.Start(w.Request.GPUMilli, float64(w.Request.GPUMilli)/1000, noon, noon, d.s.Policy.HalfLife)
	}
	d.stoppable = d.stoppable || w.Request.Preemptible
	w.Count--
	if w.Gate != nil {
		w.Gate.Left--
	}
}

// quotas is invariant 6, for those to whom the plan gave something.
func (d *drawn) quotas(place []Placement) error {
	for _, x := range place {
		w := d.waiting[x.Job-1]
		for _, a := range append([]*Account{w.Account}, w.Account.Groups...) {
			if a.MaxJobs > 0 && a.Jobs > a.MaxJobs || w.Request.GPUMilli > 0 && a.MaxMilli > 0 && a.Milli > a.MaxMilli {
				return fmt.Errorf("job %d takes %+v above its quota", w.ID, a)
			}
		}
	}
	return nil
}

// victims checks who is stopped: preemptible jobs that ran their slice, each
// once, and for jobs that do not start.
func (d *drawn) victims(plan *Plan) error {
	var seen []job.ID
	for _, v := range plan.Preempt {
		r := &d.s.Running[v.Victim-1000]
		starts := 0
		for _, x := range plan.Place {
			if x.Job == v.For {
				starts++
			}
		}
		w := d.waiting[v.For-1]
		if !r.Preemptible || r.Stopping || noon < r.Start.Add(d.s.Policy.Slice) || slices.Contains(seen, v.Victim) || starts >= w.Count {
			return fmt.Errorf("%+v is stopped for %+v, which starts %d times", r, w, starts)
		}
		x, y := w.Request.Priority, r.Priority
		if x.Class < y.Class || x.Class == y.Class && x.Number < y.Number || x == y && d.s.Policy.FIFO {
			return fmt.Errorf("%+v is stopped for %+v", r, w)
		}
		seen = append(seen, v.Victim)
	}
	return nil
}

// explained checks that the jobs which do not fit, and no others, have reasons.
func explained(p *Planner, d *drawn, r *reference) error {
	for _, j := range r.jobs {
		fits := !r.capped(j.Waiting) && r.fits(j.Waiting, r.leftFor(j), noon, false)
		if why := p.Explain(j.Waiting); fits != (len(why) == 0) {
			return fmt.Errorf("job %d %+v fits: %v, reasons %+v", j.ID, j.Request, fits, why)
		}
	}
	return nil
}
