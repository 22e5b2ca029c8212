package sched

import (
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// newForecast copies the machine and what runs. Nothing in it is the snapshot's own
// memory, nor that of a job.
func newForecast(s *Snapshot) *Forecast {
	f := &Forecast{
		Planner: NewPlanner(), begun: s.Now, s: *s, q: NewQueue(),
		accounts: map[*Account]*Account{}, throttles: map[*Throttle]*Throttle{},
		arrays: map[*Throttle]job.ID{}, wanted: map[job.ID]bool{}, starts: map[job.ID]Instant{},
	}
	f.s.GPUs, f.s.Running = slices.Clone(s.GPUs), slices.Clone(s.Running)
	f.s.Links, f.s.Reserved = slices.Clone(s.Links), slices.Clone(s.Reserved)
	for i := range f.s.GPUs {
		f.s.GPUs[i].Held = slices.Clone(f.s.GPUs[i].Held)
	}
	for i := range f.s.Running {
		f.copyRun(&f.s.Running[i])
	}
	return f
}

// copyRun makes a running job the forecast's own.
func (f *Forecast) copyRun(r *Running) {
	r.Grants, r.Account = slices.Clone(r.Grants), f.account(r.Account)
	f.stretch(r)
	x := future{throttle: f.throttle(r.Throttle)}
	if r.Request != nil && r.Preemptible {
		x.shape, x.left = newShape(r.Request), r.Stopping
	}
	r.Request, r.Throttle = nil, nil
	f.running = append(f.running, x)
}

// stretch puts off the expected end of a job that nobody has told to stop.
func (f *Forecast) stretch(r *Running) {
	if r.Stopping || r.End <= f.begun {
		return
	}
	left := f.stretched(time.Duration(r.End - f.begun))
	if r.Request != nil && r.Request.TimeLimit > 0 {
		left = min(left, max(0, r.Request.TimeLimit.Duration()-r.ran(f.begun)))
	}
	r.End = f.begun.Add(left)
}

// stretched is an expected run time as runs of late say that it is in the mean.
func (f *Forecast) stretched(d time.Duration) time.Duration {
	if f.s.Stretch <= 0 {
		return d
	}
	return time.Duration(float64(d) * f.s.Stretch)
}

// account returns the copy of an account.
func (f *Forecast) account(a *Account) *Account {
	if copied := f.accounts[a]; copied != nil || a == nil {
		return copied
	}
	copied := *a
	f.accounts[a] = &copied
	copied.Groups = nil
	for _, g := range a.Groups {
		copied.Groups = append(copied.Groups, f.account(g))
	}
	return &copied
}

// throttle returns the copy of a throttle.
func (f *Forecast) throttle(t *Throttle) *Throttle {
	if t == nil {
		return nil
	}
	if f.throttles[t] == nil {
		f.throttles[t] = &Throttle{Left: t.Left}
	}
	return f.throttles[t]
}

// enter copies a waiting job.
func (f *Forecast) enter(e *entry) {
	w := e.Waiting
	w.Account, w.Throttle = f.account(w.Account), f.throttle(w.Throttle)
	f.q.push(w, e.bucket.shape, e.bucket.priority)
	f.wanted[w.ID] = true
	if w.Throttle != nil && w.Count > 1 {
		f.arrays[w.Throttle] = w.ID
	}
}

// owe has a job for which others stop go first, but for an array.
func (f *Forecast) owe(id job.ID) {
	e := f.q.entries[id]
	if e == nil || e.Owed || e.Count > 1 {
		return
	}
	w, b := e.Waiting, e.bucket
	w.Owed = true
	f.q.Remove(id)
	f.q.push(w, b.shape, b.priority)
}

// start lets a waiting job run for as long as expected.
func (f *Forecast) start(x *Placement) {
	e := f.q.entries[x.Job]
	b := e.bucket
	if f.wanted[e.ID] {
		delete(f.wanted, e.ID)
		f.starts[e.ID] = f.s.Now
	}
	waits := e.Since.Add(b.account.Capped(b.shape.quota, f.s.Now) - e.Capped)
	r := Running{
		ID: e.ID, Grants: slices.Clone(x.Grants), MemBytes: b.shape.mem, CPUs: x.CPUs, Quota: b.shape.quota,
		Preemptible: b.shape.yields, Priority: b.priority,
		Account: b.account, Since: waits, Start: f.s.Now, Expected: e.Expected, Served: e.Served, Guarded: x.Guarded,
		Rate: Rate{GPU: b.shape.milli, Charge: b.shape.milli}, // what it asks besides counts for little
	}
	left := f.stretched(Remaining(e.Expected, e.Served))
	if b.shape.limit > 0 {
		left = min(left, b.shape.limit)
	}
	r.End = f.s.Now.Add(left)
	if e.Count > 1 {
		f.tasks--
		r.ID = f.tasks
	}
	f.count(&r, 1)
	if e.Throttle != nil {
		e.Throttle.Left--
	}
	f.s.Running = append(f.s.Running, r)
	f.running = append(f.running, future{shape: b.shape, throttle: e.Throttle, batch: e.Batch})
	if f.q.Take(e.ID); f.q.Has(e.ID) {
		f.turn(e)
	}
}

// turn lets the next task of an array wait from now on.
func (f *Forecast) turn(e *entry) {
	if f.s.Policy.FIFO {
		return
	}
	w := e.Waiting
	w.Since, w.Capped = f.s.Now, w.Account.Capped(e.bucket.shape.quota, f.s.Now)
	f.q.Remove(e.ID)
	f.q.push(w, e.bucket.shape, e.bucket.priority)
}

// count puts a job on its GPUs, its account and the machine, or takes it off.
func (f *Forecast) count(r *Running, sign int) {
	half := f.s.Policy.HalfLife
	for _, a := range append([]*Account{r.Account}, r.Account.Groups...) {
		if sign > 0 {
			a.Start(r.Quota, r.Rate, f.s.Now, half)
			a.Promise(r.MemBytes, r.CPUs)
		} else {
			a.Finish(r.Quota, r.Rate, f.s.Now, half)
			a.Promise(-r.MemBytes, -r.CPUs)
		}
	}
	f.s.Host.Running += sign
	f.s.Host.PromisedMem += int64(sign) * r.MemBytes
	f.s.Host.PromisedCPUs += sign * r.CPUs
	for _, g := range r.Grants {
		gpu := &f.s.GPUs[g.GPU]
		if sign > 0 {
			gpu.Held = append(gpu.Held, Hold{Job: r.ID, Milli: g.Milli, PromiseBytes: g.Bytes})
			continue
		}
		gpu.Held = slices.DeleteFunc(gpu.Held, func(h Hold) bool {
			if h.Job == r.ID {
				gpu.MemFreeBytes += h.SeenBytes
			}
			return h.Job == r.ID
		})
	}
}

// move goes to a moment and ends what ends then.
func (f *Forecast) move(at Instant) {
	if f.s.Now = at; at > f.begun {
		for i := range f.s.GPUs {
			f.s.GPUs[i].LoadPercent = -1 // of that nothing is known
		}
	}
	for i := range f.s.GPUs {
		if g := &f.s.GPUs[i]; g.State != OK && g.ReadyAt > 0 && g.ReadyAt <= at {
			g.State = OK
		}
	}
	for i := 0; i < len(f.s.Running); {
		if f.s.Running[i].End > at {
			i++
			continue
		}
		r, x := f.s.Running[i], f.running[i]
		f.s.Running, f.running = slices.Delete(f.s.Running, i, i+1), slices.Delete(f.running, i, i+1)
		f.end(&r, &x)
	}
}

// end takes a job off the machine; one that made room waits again.
func (f *Forecast) end(r *Running, x *future) {
	f.count(r, -1)
	if t := x.throttle; t != nil {
		if t.Left++; t.Left == 1 {
			if e := f.q.entries[f.arrays[t]]; e != nil {
				f.turn(e)
			}
		}
	}
	if !x.left {
		return
	}
	ran := r.ran(f.s.Now)
	served := r.Served + ran
	f.q.push(Waiting{
		ID: r.ID, Account: r.Account, Since: r.Since.Add(ran),
		Expected: served + Remaining(r.Expected, served), Served: served,
		Throttle: x.throttle, Count: 1, Batch: x.batch, Capped: r.Account.Capped(r.Quota, f.s.Now),
	}, x.shape, r.Priority)
}
