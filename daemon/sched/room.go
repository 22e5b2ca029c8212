package sched

import "github.com/gpusched/gpusched/daemon/job"

// room is what the machine has left to give.
type room struct {
	pass  *pass
	start capacity // when the pass began
	now   capacity // less what the pass gave out
	final capacity // once all that runs has ended
}

// begin fills in what there is as the pass begins.
func (r *room) begin() {
	r.start.open(r.pass.s)
	r.now.copyFrom(&r.start)
	r.openFinal()
}

// query is what is asked of a capacity: whether a shape of an account fits at
// a moment.
type query struct {
	shape   *resourceShape
	account *Account
	at      Instant
	when    horizon
	open    bool // reservations of administrators do not count
}

// horizon is of when a capacity is, for what it does not hold: load and use.
type horizon int8

// The horizons.
const (
	whenNow   horizon = iota
	whenFreed         // when the jobs that are to make room have ended
	whenAhead         // in the future, of which only what is from outside is taken to stay
	whenEver          // the same, when all reservations of administrators are over
)

// answer is what a pass finds out once about the GPUs that a footprint asks for.
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

// admits reports whether a GPU may be considered at all.
func (s *Snapshot) admits(q *query, l *capacity, i int) bool {
	if r := &l.gpus[i]; !r.ok || r.milli <= 0 || !q.shape.qual[i] {
		return false
	}
	if _, ok := q.shape.tolerates(&s.Policy, &s.GPUs[i], q.when); !ok {
		return false
	}
	return q.open || q.when == whenEver || s.advanceReservationFor(q, i) == nil
}

// wholeFits and partFits tell what of an admitted GPU would do.
func (s *Snapshot) wholeFits(q *query, l *capacity, i int) bool {
	r := &l.gpus[i]
	return r.milli == job.WholeGPU && r.mem >= q.shape.gpuMem && !(q.shape.alone && s.GPUs[i].Occupied)
}

func (s *Snapshot) partFits(q *query, l *capacity, i int) bool {
	return !s.GPUs[i].WholeOnly && l.gpus[i].milli >= q.shape.part && q.shape.partFits(&s.GPUs[i], l.gpus[i].mem)
}

// fits reports whether the capacity has what is asked.
func (r *room) fits(q *query, l *capacity) bool {
	return l.suffices(&q.shape.amount) && (q.shape.milli == 0 || r.gpusFit(q, l))
}

// gpusFit reports whether the capacity has the GPUs that are asked.
func (r *room) gpusFit(q *query, l *capacity) bool {
	r.pass.work++
	s, sh := r.pass.s, q.shape
	whole, onlyPart, both := 0, 0, 0
	for i := range l.gpus {
		if g := &l.gpus[i]; !g.ok || g.milli <= 0 || !s.admits(q, l, i) { // most are not free
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

// fitsAtStart reports whether the GPUs of a shape were there as the pass began, whoever
// they are reserved for: where they were not, they are not later in it.
func (r *room) fitsAtStart(q query) bool {
	f := q.shape.footprint
	if f.atStart == unasked {
		q.open = true
		f.atStart = answerOf(r.gpusFit(&q, &r.start))
	}
	return f.atStart == yes
}

// fitsEver reports whether a job of the shape fits once all has come back that is
// expected to, and no reservation of an administrator is in its way.
func (r *room) fitsEver(sh *resourceShape) bool {
	if !r.final.suffices(&sh.amount) {
		return false
	}
	if f := sh.footprint; f.ever == unasked {
		q := query{shape: sh, when: whenEver}
		f.ever = answerOf(sh.milli == 0 || r.gpusFit(&q, &r.final))
	}
	return sh.ever == yes
}

// openFinal fills in what the machine has once all has come back that is expected to.
// What the pass gives out comes back, too: this is the same throughout it.
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

// capped reports whether the account's jobs of this amount are passed over: for a quota, or since
// those that ask no GPU have all places that they may have.
func (r *room) capped(a *Account, n *amount) bool {
	return !a.unbounded && a.capped(n) || n.milli == 0 && r.now.noGPU.slots <= 0
}
