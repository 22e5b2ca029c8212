package sched

import (
	"cmp"
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/predict"
)

// refVictim is a running job that may be stopped.
type refVictim struct {
	*Running
	refStanding
	chosen bool
	parked bool // it is parked, not stopped
}

// refStanding contains the values of a job that rule "Preemption" compares with those of another
// job.
type refStanding struct {
	job.Priority
	guarded bool
	settles bool
	again   bool // the job ran before
	score   float64
	milli   int
	program predict.Kind
	untried bool
	most    bool // the job asks for more than half of the GPUs that are in service and could serve it
}

func (j refJob) standing(s *Snapshot) refStanding {
	serve := 0
	for i := range s.GPUs {
		g := &s.GPUs[i]
		if mayUseGPU(j.Waiting, g) && (g.State == OK || g.State == Cleaning || g.State == Suspect) {
			serve++
		}
	}
	x := j.runningStanding()
	x.again, x.score, x.most = j.kind.again && !s.Policy.FIFO, j.place.score, j.Request.GPUMilli > 500*serve
	return x
}

// runningStanding returns the standing that the job has without its batch once it runs.
func (j refJob) runningStanding() refStanding {
	return refStanding{
		Priority: j.Request.Priority, guarded: j.guarded, score: j.score, milli: j.Request.GPUMilli,
		program: j.kind.program, untried: j.kind.untried,
	}
}

// preemptAll applies rule "Preemption" to the first jobs that do not fit, in order.
func (r *reference) preemptAll() {
	r.freed, r.soon = r.now.clone(), r.now.clone()
	leaving := false
	r.placed = true
	defer func(before []refKept) { r.kept = before }(r.kept)
	for _, x := range r.s.Running {
		if x.Stopping {
			r.freed.add(1, x.Grants, freedBy(&x))
			leaving = true
		}
		if x.Stopping && !r.stopsSlowly(&x) {
			r.soon.add(1, x.Grants, freedBy(&x))
		}
	}
	for i, g := range r.s.GPUs {
		if g.State == Cleaning && g.ReadyAt > 0 {
			r.freed.gpus[i].ok, r.soon.gpus[i].ok, leaving = true, true, true
		}
	}
	list := r.listVictims()
	if len(list) == 0 {
		return
	}
	futile, served := map[refKind]bool{}, false
	for tries := 0; tries < maxPreemptors; {
		at := slices.IndexFunc(r.jobs, func(j refJob) bool {
			return !futile[j.kind] && !r.looked[j.ID] && r.stillWaits(j) && r.everFits(j.Waiting) && !r.behindOwn(j)
		})
		if at < 0 {
			return
		}
		j := r.jobs[at]
		if served && j.Request.GPUMilli > 1000 {
			return
		}
		r.looked[j.ID] = true
		enough := leaving && r.hasRoomFor(j.Waiting, r.reduce(r.freed, j, otherReservations(r.kept, j)), r.s.Now, whenFreed)
		could := func(v *refVictim) bool { return !v.chosen && r.yieldsAmong(v.refStanding, j.standing(r.s)) }
		if !enough && !slices.ContainsFunc(list, could) {
			if futile[j.kind] = true; j.standing(r.s).again {
				continue
			}
			return
		}
		tries++
		done := r.preemptFor(j, list)
		if done && j.Request.GPUMilli > 1000 {
			return
		}
		futile[j.kind], served = !done, served || done
	}
}

// stillWaits reports whether a part of the job still waits and no limit holds it back.
func (r *reference) stillWaits(j refJob) bool {
	starts := 0
	for _, x := range r.place {
		if x.Job == j.ID {
			starts++
		}
	}
	return !r.cutOff(j) && starts < j.Count && r.isOpen(j) && !r.capped(j.Waiting)
}

// listVictims lists the jobs that may be stopped or parked and have run for a slice, the
// lowest-ranked first.
func (r *reference) listVictims() (list []*refVictim) {
	for i := range r.s.Running {
		x := &r.s.Running[i]
		parked := len(x.Grants) == 0 && x.Quota > 0
		ran, served := time.Duration(r.s.Now-x.Start), x.Served
		if x.Returned > 0 { // the slice begins anew
			ran, served = time.Duration(r.s.Now-x.Returned), served+max(0, time.Duration(x.Returned-x.Start)-x.SuspendedTime)
		}
		if !x.Preemptible && !x.Parks || parked || x.Stopping || ran < r.s.Policy.Slice {
			continue
		}
		v := &refVictim{Running: x, refStanding: refStanding{Priority: x.Priority}}
		for _, g := range x.Grants {
			v.refStanding.milli += g.Milli
		}
		if !r.s.Policy.FIFO {
			if v.guarded = x.Guarded && r.s.GuardOpen; v.guarded {
				list = append(list, v)
				continue
			}
			v.program, v.untried, v.settles = x.Program, x.Untried, ran < r.turn(served)
			effort := x.Effort
			if effort == 0 {
				expected := max(x.Expected, time.Second)
				so := x.Served + max(0, time.Duration(r.s.Now-x.Start)-x.SuspendedTime)
				for expected <= so {
					expected *= 2
				}
				effort = expected - so
			}
			v.score = 1 + r.factor(x.Account)*float64(max(0, x.Start-x.Since))/float64(max(time.Second, effort))
		}
		list = append(list, v)
	}
	slices.SortFunc(list, func(a, b *refVictim) int { return -compareStanding(a, b) })
	return list
}

// compareStanding orders running jobs by rank.
func compareStanding(a, b *refVictim) int {
	return cmp.Or(
		cmp.Compare(b.Class, a.Class), cmp.Compare(b.Number, a.Number), cmp.Compare(truth(b.guarded), truth(a.guarded)),
		cmp.Compare(b.score, a.score), cmp.Compare(a.Since, b.Since), cmp.Compare(a.ID, b.ID),
	)
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}

// yieldsTo applies rule "Preemption" to a running job v and a waiting job j.
func (r *reference) yieldsTo(v, j refStanding) bool { return r.lower(v, j, 1) }

// yieldsAmong does what yieldsTo does, for a job v that may be stopped together with other jobs.
func (r *reference) yieldsAmong(v, j refStanding) bool {
	return r.yieldsTo(v, j) || v.milli < j.milli && r.lower(v, j, 8)
}

// lowerInTheMean reports whether the mean score of the jobs that are stopped for job j is lower
// than the score of j.
func (r *reference) lowerInTheMean(list []*refVictim, j refStanding) bool {
	scores, millis := 0.0, 0.0
	for _, x := range list {
		v := x.refStanding
		if v.Priority == j.Priority && !v.guarded && !j.guarded {
			scores += float64(v.milli) * widerBy(v, j) * v.score
			millis += float64(v.milli)
		}
	}
	return scores <= max(millis, float64(j.milli))*j.score
}

// turn returns how long a preempted job that runs again is protected from some jobs of its class
// and number: those that are no wider, or that ask for at most half of the GPUs.
func (r *reference) turn(served time.Duration) time.Duration {
	if served < r.s.Policy.Slice {
		return max(4*served, r.s.Policy.Slice)
	}
	return 4 * r.s.Policy.Slice
}

// widerBy returns the factor by which a running job's score is multiplied for the comparison with a
// waiting job's score.
func widerBy(v, j refStanding) float64 {
	more := 1.0
	for milli := 2 * j.milli; milli > 0 && milli <= v.milli; milli *= 2 {
		more += 0.5
	}
	return more
}

func (r *reference) lower(v, j refStanding, by float64) bool {
	if v.Priority != j.Priority {
		return v.Class < j.Class || v.Class == j.Class && v.Number < j.Number
	}
	if v.guarded || j.guarded {
		return !v.guarded
	}
	if (v.settles || j.again) && (j.milli <= v.milli || !j.most) {
		return false
	}
	if sweep := v.program == j.program && v.program != (predict.Kind{}); sweep && (v.untried || j.untried) {
		return false
	}
	return !r.s.Policy.FIFO && by*j.score > widerBy(v, j)*v.score
}

// stopsSlowly reports whether the job takes so long to stop that other jobs should be stopped as
// well.
func (r *reference) stopsSlowly(x *Running) bool { return 10*x.Notice > r.s.Policy.Slice }

// preemptFor stops the set of jobs whose end makes room for job j. Then, if there is a set that
// makes room soon, it also stops that set.
func (r *reference) preemptFor(j refJob, all []*refVictim) bool {
	gone, ok := r.firstSet(j, all, nil, false)
	if !ok {
		return false
	}
	more, soon := r.firstSet(j, all, gone, true)
	r.stop(j, append(gone, more...), soon)
	return true
}

// firstSet tries all sets of the jobs that yield. It counts through the sets as binary numbers in
// which the lowest-ranked job is the lowest bit. It returns the first set whose end lets job j fit,
// if the jobs in the list gone have ended too. So the highest job of the set is as low as possible,
// then the next highest job, and no job of the set could be left out.
func (r *reference) firstSet(j refJob, all, gone []*refVictim, soon bool) ([]*refVictim, bool) {
	list := slices.DeleteFunc(slices.Clone(all), func(v *refVictim) bool {
		return v.chosen || slices.Contains(gone, v) || soon && r.stopsSlowly(v.Running) || !r.yieldsAmong(v.refStanding, j.standing(r.s))
	})
	if slices.ContainsFunc(all, func(v *refVictim) bool { return v.Parks }) {
		return r.oneByOne(j, list, gone, soon)
	}
	for set := range 1 << len(list) {
		var more []*refVictim
		for i, v := range list {
			if set&(1<<i) != 0 {
				more = append(more, v)
			}
		}
		freed, early, kept := r.machineWithout(append(slices.Clone(gone), more...))
		if soon {
			freed = early
		}
		if r.hasRoomFor(j.Waiting, r.reduce(freed, j, otherReservations(kept, j)), r.s.Now, whenFreed) {
			if !r.lowerInTheMean(more, j.standing(r.s)) || !r.affords(append(slices.Clone(gone), more...), j) {
				break
			}
			return more, true
		}
	}
	return nil, false
}

// oneByOne does what firstSet does where jobs can be parked. A copy takes host memory, so more victims
// may free less, and the first of all sets need not be the best. So it takes one job after the other
// until job j fits. Each is parked if its copy fits into what is left, and stopped if not, or passed
// over if it is not preemptible. Then it drops the jobs that are not needed, the highest first.
func (r *reference) oneByOne(j refJob, list, gone []*refVictim, soon bool) ([]*refVictim, bool) {
	var more []*refVictim
	fits := func(more []*refVictim) bool {
		freed, early, kept := r.machineWithout(append(slices.Clone(gone), more...))
		if soon {
			freed = early
		}
		return r.hasRoomFor(j.Waiting, r.reduce(freed, j, otherReservations(kept, j)), r.s.Now, whenFreed)
	}
	for _, v := range list {
		if fits(more) {
			break
		}
		freed, _, _ := r.machineWithout(append(slices.Clone(gone), more...))
		v.parked = v.Parks && v.ParkBytes <= min(r.copiesLeft(append(slices.Clone(gone), more...)), freed.mem)
		if v.parked || v.Preemptible {
			more = append(more, v)
		}
	}
	if !fits(more) {
		return nil, false
	}
	for i := len(more) - 1; i >= 0; i-- {
		if less := slices.Delete(slices.Clone(more), i, i+1); fits(less) {
			more = less
		}
	}
	if !r.lowerInTheMean(more, j.standing(r.s)) || !r.affords(append(slices.Clone(gone), more...), j) {
		return nil, false
	}
	return more, true
}

// copiesLeft returns the host memory that is left for copies if the listed jobs leave too.
func (r *reference) copiesLeft(list []*refVictim) int64 {
	left := min(r.s.ParkBytes, r.now.mem)
	for _, v := range r.preempt {
		if v.Park {
			left -= r.s.Running[slices.IndexFunc(r.s.Running, func(x Running) bool { return x.ID == v.Victim })].ParkBytes
		}
	}
	for _, v := range list {
		if v.parked {
			left -= v.ParkBytes
		}
	}
	return left
}

// costs returns what it costs to stop a job for another of its class and number.
func (r *reference) costs(v *refVictim, j refJob) time.Duration {
	if v.refStanding.Priority != j.Request.Priority {
		return 0
	}
	each := v.Notice
	if !v.parked {
		each += r.s.Policy.RestartCost
	}
	return time.Duration(v.refStanding.milli) * each / 1000
}

// affords reports whether stops may cost what these and the earlier ones of the pass cost.
func (r *reference) affords(list []*refVictim, j refJob) bool {
	sum, more := time.Duration(0), time.Duration(0)
	for _, v := range r.preempt {
		sum += v.Cost
	}
	for _, v := range list {
		more += r.costs(v, j)
	}
	return more == 0 || sum+more <= r.s.ForStops
}

func (r *reference) stop(j refJob, gone []*refVictim, soon bool) {
	for _, v := range gone {
		v.chosen = true
		r.preempt = append(r.preempt, Preemption{Victim: v.ID, For: j.ID, Park: v.parked, Cost: r.costs(v, j)})
	}
	freed, early, kept := r.machineWithout(gone)
	from := freed
	if soon {
		from = early
	}
	grants := r.choose(j.Waiting, r.reduce(from, j, otherReservations(kept, j)), whenFreed)
	freed.add(-1, grants, j.host(j.Request.CPUs))
	early.add(-1, grants, j.host(j.Request.CPUs))
	for i := range kept {
		if kept[i].id == j.ID {
			kept[i].served = true
		} else if r.inWay(j, kept[i]) {
			kept[i].rest.add(-1, grants, j.host(j.Request.CPUs))
		}
	}
	r.freed, r.soon, r.kept = freed, early, kept
	r.count(j, j.Request.CPUs)
}

// machineWithout returns the machine without the listed jobs, the part of it that is free soon, and
// what the reservations then leave.
func (r *reference) machineWithout(list []*refVictim) (freed, soon machine, kept []refKept) {
	freed, soon, kept = r.freed.clone(), r.soon.clone(), slices.Clone(r.kept)
	for i := range kept {
		kept[i].rest = kept[i].rest.clone()
	}
	for _, v := range list {
		host := hostOf(v.Running)
		if v.parked {
			host = refHost{mem: -v.ParkBytes}
		}
		freed.add(1, v.Grants, host)
		if !r.stopsSlowly(v.Running) {
			soon.add(1, v.Grants, host)
		}
		for i := range kept {
			if ends := (refEnds{v.End, v.Late}); ends.planEnd(kept[i].until) > kept[i].at {
				kept[i].rest.add(1, v.Grants, host)
			}
		}
	}
	return freed, soon, kept
}

// otherReservations returns the reservations that a job must respect in its search for victims.
func otherReservations(kept []refKept, j refJob) []refKept {
	return slices.DeleteFunc(slices.Clone(kept), func(k refKept) bool { return k.id == j.ID || k.served })
}
