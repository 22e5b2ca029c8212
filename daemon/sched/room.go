package sched

import "github.com/gpusched/gpusched/daemon/job"

// room holds what the machine has left.
type room struct {
	pass  *pass
	start capacity // what is left when the pass begins
	now   capacity // the field start minus what the pass has given to jobs
	final capacity // what is left once all running jobs have ended
}

// begin sets the fields start, now and final when the pass begins.
func (r *room) begin() {
	r.start.open(r.pass.s)
	r.now.copyFrom(&r.start)
	r.openFinal()
}

// query asks whether a capacity has what a job of a given shape and account needs at a given
// moment.
type query struct {
	shape   *resourceShape
	account *Account
	at      Instant
	when    horizon
	open    bool // the query ignores advance reservations
}

// horizon is the time to which a query refers. It determines what counts as load and as memory in
// use.
type horizon int8

// The horizons, the present first.
const (
	whenNow   horizon = iota
	whenFreed         // when preempted jobs have ended
	whenAhead         // in the future, when only foreign processes remain
	whenEver          // in the future, after all advance reservations
)

// An answer keeps what a pass has found out about the GPUs of a footprint.
type answer uint8

const (
	unasked answer = iota
	yes
	no
)

func answerOf(is bool) answer {
	if is {
		return yes
	}
	return no
}

// mayUse reports whether the query's job may use GPU i at all.
func (s *Snapshot) mayUse(q *query, l *capacity, i int) bool {
	if r := &l.gpus[i]; !r.ok || r.milli <= 0 || !q.shape.qual[i] || !r.mates.Admits(q.shape.mates) {
		return false
	}
	if _, ok := q.shape.withinLimits(&s.Policy, &s.GPUs[i], q.when); !ok {
		return false
	}
	return q.open || q.when == whenEver || s.advanceReservationFor(q, i) == nil
}

// wholeFits reports whether a GPU is free as a whole for the query's job. partFits reports whether
// a GPU has room for the part that the query asks for. Both need a GPU that the job may use.
func (s *Snapshot) wholeFits(q *query, l *capacity, i int) bool {
	r := &l.gpus[i]
	if r.milli != job.WholeGPU || q.shape.partOn == s.GPUs[i].Index+1 {
		return false
	}
	return r.mem >= q.shape.gpuMem && !(q.shape.alone && s.GPUs[i].Occupied)
}

func (s *Snapshot) partFits(q *query, l *capacity, i int) bool {
	if on := q.shape.partOn; on > 0 && on != s.GPUs[i].Index+1 {
		return false
	}
	return !s.GPUs[i].WholeOnly && l.gpus[i].milli >= q.shape.part && q.shape.partFits(&s.GPUs[i], l.gpus[i].mem)
}

// hasRoomFor reports whether the capacity has what the query asks for.
func (r *room) hasRoomFor(q *query, l *capacity) bool {
	return l.canTake(&q.shape.amount) && (q.shape.milli == 0 || r.gpusFit(q, l))
}

// gpusFit reports whether the capacity has the GPUs that the query asks for.
func (r *room) gpusFit(q *query, l *capacity) bool {
	r.pass.work++
	s, sh := r.pass.s, q.shape
	whole, onlyPart, both := 0, 0, 0
	for i := range l.gpus {
		if g := &l.gpus[i]; !g.ok || g.milli <= 0 || !s.mayUse(q, l, i) { // most GPUs are not free
			continue
		}
		w := s.wholeFits(q, l, i)
		part := sh.part > 0 && s.partFits(q, l, i)
		if w {
			whole++
		}
		if part && w {
			both++
		} else if part {
			onlyPart++
		}
	}
	return whole >= sh.whole && (sh.part == 0 || onlyPart > 0 || both > 0 && whole > sh.whole)
}

// fitsAtStart reports whether the GPUs of a shape were free when the pass began. It ignores advance
// reservations. GPUs that were not free at that time do not become free during the pass.
func (r *room) fitsAtStart(q query) bool {
	f := q.shape.footprint
	if f.atStart == unasked {
		q.open = true
		f.atStart = answerOf(r.gpusFit(&q, &r.start))
	}
	return f.atStart == yes
}

// fitsEver reports whether a job of the shape fits once all running jobs have ended. It ignores
// advance reservations.
func (r *room) fitsEver(sh *resourceShape) bool {
	if !r.final.canTake(&sh.amount) {
		return false
	}
	if f := sh.footprint; f.ever == unasked {
		q := query{shape: sh, when: whenEver}
		f.ever = answerOf(sh.milli == 0 || r.gpusFit(&q, &r.final))
	}
	return sh.ever == yes
}

// openFinal sets the field final to what is free once running jobs have ended and GPUs are ready.
// The jobs that the pass starts end as well, so this value stays valid for the whole pass.
func (r *room) openFinal() {
	r.final.copyFrom(&r.start)
	s := r.pass.s
	for i := range s.Running {
		x := &s.Running[i]
		r.final.giveBack(x.Grants, x.hostShare(), s.Now)
	}
	for i := range s.GPUs {
		if g := &s.GPUs[i]; g.State != OK && g.ReadyAt > 0 {
			r.final.gpus[i].ok = true
		}
	}
}

// isCapped reports whether the pass skips jobs of the given amount. It does so if a quota refuses
// them, or if they are without GPUs and all slots for such jobs are taken.
func (r *room) isCapped(a *Account, n *amount) bool {
	return !a.unbounded && a.isCapped(n) || n.milli == 0 && r.now.noGPU.slots <= 0
}
