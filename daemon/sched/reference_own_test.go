package sched

import (
	"slices"
)

// refBegun is what quotas count for a job that the pass starts.
type refBegun struct {
	refUse
	account *Account
	end     Instant
}

// refUse is how much of each quota jobs use.
type refUse struct {
	jobs, milli, cpus int
	mem               int64
}

func (u refUse) plus(v refUse, times int) refUse {
	return refUse{u.jobs + times*v.jobs, u.milli + times*v.milli, u.cpus + times*v.cpus, u.mem + int64(times)*v.mem}
}

func useOf(w *Waiting) refUse {
	return refUse{1, quotaCount(w.Request), w.Request.CPUs, w.Request.MemBytes}
}

// allowsMore reports whether an account's quotas allow one more job. If the job does not ask for a
// resource, the quota of that resource does not matter.
func (u refUse) allowsMore(a *Account, w *Waiting) bool {
	if w.Returns {
		return true // it counts already
	}
	more := useOf(w)
	sum := u.plus(more, 1)
	return (a.MaxJobs == 0 || sum.jobs <= a.MaxJobs) &&
		(a.MaxMilli == 0 || w.Request.GPUMilli == 0 || sum.milli <= a.MaxMilli) &&
		(a.MaxMem == 0 || more.mem == 0 || sum.mem <= a.MaxMem) &&
		(a.MaxCPUs == 0 || more.cpus == 0 || sum.cpus <= a.MaxCPUs)
}

func quotasOf(a *Account) []*Account { return append([]*Account{a}, a.Groups...) }

// runningUse returns what an account's running jobs use. If started is true, it adds the use of
// the jobs that the pass starts.
func (r *reference) runningUse(a *Account, started bool) refUse {
	mem, cpus := a.Promised()
	u := refUse{a.Jobs, a.Milli, cpus, mem}
	if n := r.new(a); started {
		u = u.plus(refUse{n.jobs, n.milli, n.cpus, n.mem}, 1)
	}
	return u
}

// runningUseAt returns what the account's running jobs will use at a later moment.
func (r *reference) runningUseAt(a *Account, at Instant) refUse {
	u := r.runningUse(a, true)
	for _, x := range r.s.Running {
		if x.End <= at && slices.Contains(quotasOf(x.Account), a) && !(x.Parks && x.Stopping) {
			u = u.plus(refUse{1, x.Quota, x.CPUs, x.MemBytes}, -1)
		}
	}
	for _, x := range r.begun {
		if x.end <= at && slices.Contains(quotasOf(x.account), a) {
			u = u.plus(x.refUse, -1)
		}
	}
	return u
}

// keepsPlace reports whether a waiting job keeps its place in the quotas of an account. That is so
// if the job has a reservation, or if a quota of the account held the job back when the pass began.
// If the account is the user's own, a quota of one of the user's groups counts too.
func (r *reference) keepsPlace(j refJob, in *Account) bool {
	if !slices.Contains(quotasOf(j.Account), in) || j.Returns {
		return false
	}
	if slices.ContainsFunc(r.kept, func(k refKept) bool { return k.id == j.ID }) {
		return true
	}
	if j.Account.Barred != "" || j.Count == 0 || j.Throttle.Full() != nil || !r.everFits(j.Waiting) {
		return false
	}
	full := false
	for _, a := range quotasOf(j.Account) {
		half := r.s.Policy.HalfLife
		if a.MaxUsage > 0 && half > 0 && j.Request.GPUMilli > 0 && a.GPUTime(r.s.Now, half) >= a.MaxUsage {
			return false
		}
		if !(refUse{}).allowsMore(a, j.Waiting) {
			return false
		}
		full = full || (in == j.Account || in == a) && !r.runningUse(a, false).allowsMore(a, j.Waiting)
	}
	return full
}

// placeAt returns the planned start of a job that keeps its place. That is the first moment at
// which all of its quotas allow the job, but not before its reserved start.
func (r *reference) placeAt(j refJob) (Instant, bool) {
	moments := []Instant{r.s.Now}
	for _, x := range r.s.Running {
		if !(x.Parks && x.Stopping) {
			moments = append(moments, x.End)
		}
	}
	for _, x := range r.begun {
		moments = append(moments, x.end)
	}
	slices.Sort(moments)
	for _, at := range moments {
		if !slices.ContainsFunc(quotasOf(j.Account), func(a *Account) bool { return !r.runningUseAt(a, at).allowsMore(a, j.Waiting) }) {
			for _, k := range r.kept {
				if k.id == j.ID {
					at = max(at, k.at)
				}
			}
			return at, true
		}
	}
	return 0, false
}

// remainingQuota returns how much of an account's quotas is used once the job that keeps its place
// in them has started. If job j need not respect that place, it returns false.
func (r *reference) remainingQuota(j refJob, in *Account) (refUse, bool) {
	before := r.jobs[:slices.IndexFunc(r.jobs, func(o refJob) bool { return o.ID == j.ID })]
	first := slices.IndexFunc(before, func(o refJob) bool { return !r.cutOff(o) && r.keepsPlace(o, in) })
	if first < 0 {
		return refUse{}, false
	}
	k := before[first]
	at, ok := r.placeAt(k)
	if !ok || r.s.Now.Add(j.run) <= at {
		return refUse{}, false
	}
	return r.runningUseAt(in, at).plus(useOf(k.Waiting), 1), true
}

// behindOwn reports whether a job waits for an earlier job of its account or group, because that
// job keeps its place.
func (r *reference) behindOwn(j refJob) bool {
	return slices.ContainsFunc(quotasOf(j.Account), func(a *Account) bool {
		use, ok := r.remainingQuota(j, a)
		return ok && !use.allowsMore(a, j.Waiting)
	})
}
