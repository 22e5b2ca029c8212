package sched

import (
	"fmt"
	"slices"

	"github.com/gpusched/gpusched/daemon/job"
)

// waitingJobs returns the jobs that still wait.
func (d *randomMachine) waitingJobs() (list []*Waiting) {
	for _, w := range d.waiting {
		if w.Count > 0 {
			list = append(list, w)
		}
	}
	return list
}

// carryOut carries out a plan and checks invariants 1 to 3 and 6.
func (d *randomMachine) carryOut(place []Placement) error {
	for _, x := range place {
		w := d.waiting[x.Job-1]
		if err := d.checkGang(w, x.Grants); err != nil {
			return err
		}
		for _, g := range x.Grants {
			if err := d.putPart(w, g); err != nil {
				return err
			}
		}
		d.q.Take(x.Job)
		d.started(w, x)
		over := false
		for t := w.Throttle; t != nil; t = t.Next {
			over = over || t.Lane.Running > t.Limit
		}
		if w.Count < 0 || over {
			return fmt.Errorf("job %d starts more often than it may", w.ID)
		}
	}
	if err := d.checkRoom(place); err != nil {
		return err
	}
	return d.checkQuotas(place)
}

// checkRoom checks that there are enough job slots, memory and CPUs for the started jobs. If a job
// does not ask for a resource, checkRoom does not check that resource.
func (d *randomMachine) checkRoom(place []Placement) error {
	h := &d.s.Host
	for _, x := range place {
		w := d.waiting[x.Job-1]
		if w.Returns {
			continue
		}
		if h.MaxRunning > 0 && h.Running > h.MaxRunning {
			return fmt.Errorf("%d jobs run of %d", h.Running, h.MaxRunning)
		}
		if w.Request.MemBytes > 0 && h.MemBytes > 0 && h.PromisedMem > h.MemBytes {
			return fmt.Errorf("job %d makes it %d bytes of %d", w.ID, h.PromisedMem, h.MemBytes)
		}
		if x.CPUs > 0 && h.CPUs > 0 && h.PromisedCPUs > h.CPUs || x.CPUs < w.Request.CPUs {
			return fmt.Errorf("job %d counts for %d CPUs and asked %d: it is %d of %d", w.ID, x.CPUs, w.Request.CPUs, h.PromisedCPUs, h.CPUs)
		}
	}
	return nil
}

// checkGang checks invariant 2.
func (d *randomMachine) checkGang(w *Waiting, grants []Grant) error {
	sum, last := 0, -1
	var indexes []int
	named := slices.Sorted(slices.Values(w.Request.GPUIDs))
	for _, g := range grants {
		if w.Returns && g.Milli < job.WholeGPU && d.s.GPUs[g.GPU].Index != w.Request.GPUIDs[len(named)-1] {
			return fmt.Errorf("job %d gets a part of another GPU: %+v", w.ID, grants)
		}
		if g.GPU <= last {
			return fmt.Errorf("job %d gets %+v: not ascending", w.ID, grants)
		}
		last = g.GPU
		sum += g.Milli
		indexes = append(indexes, d.s.GPUs[g.GPU].Index)
	}
	if r := w.Request; sum != r.GPUMilli || len(grants) != r.Devices() || len(named) > 0 && !slices.Equal(indexes, named) {
		return fmt.Errorf("job %d asks %d milli of %v, gets %+v", w.ID, w.Request.GPUMilli, w.Request.GPUIDs, grants)
	}
	return nil
}

// putPart puts a part of the job on a GPU and checks invariants 1 and 3.
func (d *randomMachine) putPart(w *Waiting, grant Grant) error {
	g := &d.s.GPUs[grant.GPU]
	if g.State != OK || grant.Milli == job.WholeGPU && len(g.Held) > 0 || g.share() < grant.Milli {
		return fmt.Errorf("job %d gets %+v of %+v", w.ID, grant, g)
	}
	slack := g.SlackBytes
	if w.Request.GPUMemBytes > 0 || grant.Milli == job.WholeGPU {
		slack = 0
	}
	if g.freeMem()+slack < grant.Bytes || grant.Bytes < w.Request.GPUMemBytes {
		return fmt.Errorf("job %d gets %+v of %+v, which has %d bytes free", w.ID, grant, g, g.freeMem())
	}
	g.Held = append(slices.Clone(g.Held), Hold{Job: w.ID, Milli: grant.Milli, PromiseBytes: grant.Bytes, Mates: grant.Mates})
	return nil
}

func (d *randomMachine) started(w *Waiting, x Placement) {
	runs := newReference(&d.s, nil).value(w)
	d.s.Running = append(d.s.Running, Running{
		ID: w.ID, Grants: slices.Clone(x.Grants), MemBytes: w.Request.MemBytes, CPUs: x.CPUs, Priority: w.Request.Priority,
		Account: w.Account, End: noon.Add(runs.run), Late: noon.Add(runs.lateRun), Since: w.Since, Start: noon, Expected: w.Expected,
	})
	d.stoppable = d.stoppable || w.Request.Preemptible || w.Parks
	w.Count--
	w.Throttle.Count(1)
	if w.Returns { // it counts already
		return
	}
	d.s.Host.Running++
	d.s.Host.PromisedMem += w.Request.MemBytes
	d.s.Host.PromisedCPUs += x.CPUs
	for _, a := range append([]*Account{w.Account}, w.Account.Groups...) {
		a.Start(w.Request.QuotaMilli(), gpuRate(w.Request.GPUMilli), noon, d.s.Policy.HalfLife)
		a.Promise(w.Request.MemBytes, x.CPUs)
	}
}

// checkQuotas checks invariant 6 for the accounts whose jobs the plan starts.
func (d *randomMachine) checkQuotas(place []Placement) error {
	for _, x := range place {
		w := d.waiting[x.Job-1]
		if w.Returns {
			continue
		}
		for _, a := range append([]*Account{w.Account}, w.Account.Groups...) {
			if a.MaxJobs > 0 && a.Jobs > a.MaxJobs || w.Request.GPUMilli > 0 && a.MaxMilli > 0 && a.Milli > a.MaxMilli {
				return fmt.Errorf("job %d takes %+v above its quota", w.ID, a)
			}
			mem, cpus := a.Promised()
			if w.Request.MemBytes > 0 && a.MaxMem > 0 && mem > a.MaxMem || x.CPUs > 0 && a.MaxCPUs > 0 && cpus > a.MaxCPUs {
				return fmt.Errorf("job %d takes %+v above its quota", w.ID, a)
			}
		}
	}
	return nil
}
