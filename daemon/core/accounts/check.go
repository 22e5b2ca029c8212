package accounts

import (
	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/sched"
)

// Check verifies for whom jobs count, and counts what each account runs anew.
func (b *Book) Check(breach tracked.Breach) {
	for id, l := range b.jobs.All() {
		j := l.Job
		if l.Account != b.Of(j.Owner, j.Principal) || l.Weighed != j.Weight() {
			breach(11, "job %d counts for %s with %d bytes, and weighs %d", id, keyOf(l.Account), l.Weighed, j.Weight())
		}
	}
	type runs struct {
		jobs, milli, cpus int
		mem               int64
		rate              sched.Rate
	}
	want, guarded := map[*sched.Account]runs{}, 0
	for _, l := range b.jobs.AllActive() {
		if l.Guarded {
			guarded += l.Request.GPUMilli
		}
		for _, a := range l.Accounts() {
			r, rate := want[a], RateOf(l.Job)
			r.jobs, r.milli = r.jobs+1, r.milli+l.QuotaMilli()
			r.cpus, r.mem = r.cpus+l.CPUs(), r.mem+l.Request.MemBytes
			r.rate.GPU, r.rate.Charge = r.rate.GPU+rate.GPU, r.rate.Charge+rate.Charge
			want[a] = r
		}
	}
	for _, a := range b.all() {
		mem, cpus := a.Promised()
		if is := (runs{a.Jobs, a.Milli, cpus, mem, a.Rate()}); is != want[a] {
			breach(11, "%s counts jobs, milli, CPUs, bytes and rates %v, and runs %v", keyOf(a), is, want[a])
		}
	}
	if guarded != b.lane.milli {
		breach(11, "the lane counts %d milli, and its jobs hold %d", b.lane.milli, guarded)
	}
}
