package sched

import (
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

type refKept struct {
	id     job.ID
	at     Instant
	late   Instant // the start if other jobs end late
	until  Instant // the expected start counts late ends up to this moment
	grants []Grant
	host   refHost
	ends   refEnds
	rest   machine
	then   refJob // the job with the rank that it has at its start
	served bool   // other jobs are stopped for the job
}

// refEnds are two estimates of when something ends: the expected end, and a late end, which four
// such ends in five do not exceed.
type refEnds struct{ end, late Instant }

// planEnd returns the end to assume in a plan: the late end, but at most the given moment. It is
// never before the expected end.
func (e refEnds) planEnd(until Instant) Instant { return max(e.end, min(e.late, until)) }

type refRun struct {
	refEnds
	grants []Grant
	host   refHost
}

// everFits reports whether the job fits once all running jobs have ended, and all GPUs that are
// expected to become ready are ready. It ignores advance reservations.
func (r *reference) everFits(w *Waiting) bool {
	s := *r.s
	s.Reserved = nil
	then := newReference(&s, nil)
	for _, x := range s.Running {
		then.now.add(1, x.Grants, hostOf(&x))
	}
	for i, g := range s.GPUs {
		then.now.gpus[i].ok = g.State == OK || g.ReadyAt > 0
	}
	return then.hasRoomFor(w, then.now, s.Now, whenAhead)
}

// reserve makes a reservation if the job fits at a later moment. It skips a job that never fits. If
// only load or an advance reservation keeps the job from starting, the job gets no reservation, and
// similar jobs get none either. If this happens too often to an account, none of its jobs gets a
// reservation.
func (r *reference) reserve(j refJob) {
	if !r.everFits(j.Waiting) {
		return
	}
	if r.given[j.kind] || r.tries[j.Account] >= r.most || r.vain[j.kind.request] && len(r.s.Reserved) == 0 {
		return
	}
	if r.behindOwn(j) {
		return
	}
	base := r.now.clone()
	for _, k := range r.kept {
		base.add(-1, k.grants, k.host)
	}
	if r.hasRoomFor(j.Waiting, base, r.s.Now, whenAhead) {
		r.giveUp(j)
		return
	}
	if k, ok := r.findStart(j, base); ok {
		r.kept = append(r.kept, k)
		return
	}
	r.giveUp(j)
}

// findStart finds the first moment at which the job fits, and what is kept for the job at that
// moment. It assumes that running jobs end late, but only up to the moment at which the job has
// waited for Policy.Patience times its expected run time. It also finds the late start, for which
// other jobs may end late at any time.
func (r *reference) findStart(j refJob, base machine) (k refKept, ok bool) {
	if times := r.s.Policy.Patience; times > 0 {
		k.until = j.turn.Add(time.Duration(times) * j.Expected)
	}
	at, m, ok := r.firstFit(j, base, k.until)
	if !ok {
		return k, false
	}
	k.at, k.late = at, at
	if r.s.Policy.Patience > 0 {
		late, _, _ := r.firstFit(j, base, Never)
		k.late = max(at, late)
	}
	k.id, k.host = j.ID, j.host(j.Request.CPUs)
	k.ends = refEnds{at.Add(j.run), k.late.Add(j.lateRun)}
	k.grants, k.rest = r.latestGPUs(j.Waiting, m, at), m
	k.rest.add(-1, k.grants, k.host)
	for _, g := range k.grants {
		if j.Request.GPUMemBytes > 0 {
			k.rest.gpus[g.GPU].mem -= r.s.GPUs[g.GPU].SlackBytes
		}
	}
	if k.then = j; !r.s.Policy.FIFO {
		k.then.place.score = r.scoreThen(j, at)
	}
	return k, true
}

func (r *reference) firstFit(j refJob, base machine, until Instant) (Instant, machine, bool) {
	for _, at := range r.moments(until) {
		if m := r.machineAt(base, at, until); r.hasRoomFor(j.Waiting, m, at, whenAhead) {
			return at, m, true
		}
	}
	return 0, machine{}, false
}

func (r *reference) giveUp(j refJob) {
	r.given[j.kind], r.vain[j.kind.request] = true, true
	r.tries[j.Account]++
}

// listEnds lists all resources that become free, except GPUs that become ready.
func (r *reference) listEnds() (list []refRun) {
	for _, x := range r.s.Running {
		list = append(list, refRun{refEnds{max(x.End, r.s.Now), x.Late}, x.Grants, freedBy(&x)})
	}
	list = append(list, r.started...)
	for _, k := range r.kept {
		list = append(list, refRun{k.ends, k.grants, k.host})
	}
	return list
}

func (r *reference) moments(until Instant) (list []Instant) {
	for _, e := range r.listEnds() {
		list = append(list, e.planEnd(until))
	}
	for _, g := range r.s.GPUs {
		if g.State != OK && g.ReadyAt > 0 {
			list = append(list, max(g.ReadyAt, r.s.Now))
		}
	}
	for _, v := range r.s.Reserved {
		if v.To > r.s.Now {
			list = append(list, v.To)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func (r *reference) machineAt(base machine, at, until Instant) machine {
	m := base.clone()
	for _, e := range r.listEnds() {
		end := e.planEnd(until)
		if end > at {
			continue
		}
		m.add(1, e.grants, e.host)
		for _, g := range e.grants {
			m.gpus[g.GPU].since = max(m.gpus[g.GPU].since, end)
		}
	}
	for i, g := range r.s.GPUs {
		if g.State != OK && g.ReadyAt > 0 && g.ReadyAt <= at {
			m.gpus[i].ok = true
			m.gpus[i].since = max(m.gpus[i].since, g.ReadyAt)
		}
	}
	return m
}

// latestGPUs chooses the GPUs that become free last: first the whole GPUs, then the part on one of
// the remaining GPUs. If no remaining GPU has room for the part, the part goes to the last of the
// chosen GPUs that has room. In place of that GPU, the first remaining GPU is granted whole.
func (r *reference) latestGPUs(w *Waiting, m machine, at Instant) []Grant {
	q := w.Request
	whole, part := r.usableGPUs(w, m, at, whenAhead)
	byAge := func(a, b int) int {
		if x, y := m.gpus[a].since, m.gpus[b].since; x != y {
			return int(y - x)
		}
		return a - b
	}
	sorted := slices.Clone(whole)
	slices.SortFunc(sorted, byAge)
	set := sorted[:q.Whole()]
	var out []Grant
	if q.Part() > 0 {
		rest := slices.DeleteFunc(slices.Clone(part), func(i int) bool { return slices.Contains(set, i) })
		if len(rest) > 0 {
			out = append(out, r.partOf(q, slices.MinFunc(rest, byAge)))
		} else {
			last := part[len(part)-1]
			spare := slices.IndexFunc(whole, func(i int) bool { return !slices.Contains(set, i) })
			set[slices.Index(set, last)] = whole[spare]
			out = append(out, r.partOf(q, last))
		}
	}
	for _, i := range set {
		out = append(out, Grant{GPU: i, Milli: 1000, Bytes: q.GPUMemBytes, Mates: q.Mates})
	}
	slices.SortFunc(out, func(a, b Grant) int { return a.GPU - b.GPU })
	return out
}
