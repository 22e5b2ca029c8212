package sched

import "slices"

// What a pass has found out about the GPUs that a footprint asks for. As a pass goes
// on, less and less is free: where they do not suffice once, they never do again in
// it. Where they do, that holds until something more has been given out or kept.

// verdict is whether the GPUs of a footprint suffice behind some reservations.
type verdict struct {
	rights  int32
	mask    uint32 // of the reservations
	version uint32 // when that was found
	fits    bool
}

// firstVersion is that of a pass that has not given out or kept anything.
const firstVersion = 1

// answer is what is found out once.
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

// rights are how an account stands with the reservations of administrators: those
// that keep a job of it from their GPUs now, and those that are its own and hold now.
type rights struct{ barred, owned uint64 }

// noRights is of jobs of which nothing can be remembered: there are more reservations
// than bits.
const noRights = -1

// beginRights finds which reservations of administrators are open to the accounts.
func (p *Planner) beginRights() {
	p.rights, p.current = p.rights[:0], 0
	if len(p.s.Reserved) == 0 || len(p.s.Reserved) > 64 {
		return
	}
	for a := range p.q.accounts {
		a.allowed = 0
	}
	for i := range p.s.Reserved {
		r := &p.s.Reserved[i]
		if r.From <= p.s.Now && p.s.Now < r.To {
			p.current |= 1 << i
		}
		for a := range p.q.accounts {
			if r.allows(a) {
				a.allowed |= 1 << i
			}
		}
	}
}

// rightsOf returns a number for the rights of a job of the bucket. What is found for
// one number holds for all jobs of it.
func (p *Planner) rightsOf(b *bucket) int32 {
	switch n := len(p.s.Reserved); {
	case n == 0:
		return 0
	case n > 64:
		return noRights
	}
	want := rights{barred: p.conflicts(b.shape) &^ b.account.allowed, owned: p.current & b.account.allowed}
	for i, r := range p.rights {
		if r == want {
			return int32(i)
		}
	}
	p.rights = append(p.rights, want)
	return int32(len(p.rights) - 1)
}

// conflicts returns the reservations of administrators that a job of the shape would
// run into, as bits.
func (p *Planner) conflicts(sh *resourceShape) (mask uint64) {
	for i := range p.s.Reserved {
		if p.s.Reserved[i].overlaps(sh.limit, p.s.Now) {
			mask |= 1 << i
		}
	}
	return mask
}

// changed notes that something was given out or kept.
func (p *Planner) changed() {
	p.version++
	p.sorted = false
}

// known returns what has been found, if it still holds.
func (f *footprint) known(want verdict) (fits, ok bool) {
	for i := range f.verdicts {
		switch v := &f.verdicts[i]; {
		case v.rights != want.rights:
		case !v.fits && v.mask&want.mask == v.mask:
			return false, true
		case v.fits && v.mask == want.mask && v.version == want.version:
			return true, true
		}
	}
	return false, false
}

// learn keeps what was found.
func (f *footprint) learn(found verdict) {
	for i := range f.verdicts {
		if v := &f.verdicts[i]; v.rights == found.rights && v.mask == found.mask {
			*v = found
			return
		}
	}
	f.verdicts = append(f.verdicts, found)
}

// roomFor reports whether a job of the bucket fits into what is left now behind
// some reservations.
func (p *Planner) roomFor(b *bucket, mask uint32) bool {
	if b.shape.whole > p.wholeBehind(mask) || !p.hostBehind(mask).suffices(&b.shape.amount) {
		return false
	}
	if b.shape.milli == 0 {
		return true
	}
	q := query{shape: b.shape, account: b.account, at: p.s.Now, when: whenNow}
	if !p.fitsAtStart(q) {
		return false
	}
	if mask == 0 && p.nothingGiven() {
		return true
	}
	v := verdict{rights: p.rightsOf(b), mask: mask, version: p.version}
	if fits, ok := b.shape.known(v); ok && v.rights != noRights {
		return fits
	}
	v.fits = p.gpusFit(&q, p.nowBehind(&q, v))
	if v.rights != noRights {
		b.shape.learn(v)
	}
	return v.fits
}

// nothingGiven reports whether all may have what there was as the pass began.
func (p *Planner) nothingGiven() bool { return p.openToAll && p.version == firstVersion }

// freeForAll reports whether administrators reserved nothing, now or later, that is free as
// the pass begins.
func (p *Planner) freeForAll() bool {
	for i := range p.start.gpus {
		r := &p.start.gpus[i]
		in := func(v AdvanceReservation) bool { return v.GPUs[i] }
		if r.ok && r.milli > 0 && slices.ContainsFunc(p.s.Reserved, in) {
			return false
		}
	}
	return true
}

// fitsAtStart reports whether the GPUs of a shape were there as the pass began, whoever
// they are reserved for. That is found once for as long as they stay as they are.
func (p *Planner) fitsAtStart(q query) bool {
	f := q.shape.footprint
	if f.atStart == unasked {
		q.open = true
		f.atStart = answerOf(p.gpusFit(&q, &p.start))
	}
	return f.atStart == yes
}

// room is what was left behind reservations.
type room struct {
	capacity
	of verdict // for whom, and when
}

// nowBehind is what is left now behind reservations.
func (p *Planner) nowBehind(q *query, v verdict) *capacity {
	if v.mask == 0 {
		return &p.now
	}
	if v.rights == noRights || p.room.of != v {
		p.room.copyFrom(p.capacityBehind(q, &p.now, v.mask))
		p.room.of = v
	}
	return &p.room.capacity
}

// fitsEver reports whether a job of the shape fits once all has come back that is
// expected to, and no reservation of an administrator is in its way.
func (p *Planner) fitsEver(sh *resourceShape) bool {
	return p.final.suffices(&sh.amount) && p.gpusEver(sh)
}

// gpusEver is fitsEver for the GPUs alone.
func (p *Planner) gpusEver(sh *resourceShape) bool {
	if f := sh.footprint; f.ever == unasked {
		q := query{shape: sh, when: whenEver}
		f.ever = answerOf(sh.milli == 0 || p.gpusFit(&q, &p.final))
	}
	return sh.ever == yes
}

// openFinal fills in what the machine has once all has come back that is expected to.
// What the pass gives out comes back, too: this is the same throughout it.
func (p *Planner) openFinal() {
	p.final.copyFrom(&p.start)
	for i := range p.s.Running {
		r := &p.s.Running[i]
		p.final.giveBack(r.Grants, r.hostShare(), p.s.Now)
	}
	for i := range p.s.GPUs {
		if g := &p.s.GPUs[i]; g.State != OK && g.ReadyAt > 0 {
			p.final.gpus[i].ok = true
		}
	}
}

// fitsAhead reports whether the job at the cursor would fit beside what is kept, were
// it not for a load.
func (p *Planner) fitsAhead(q *query, b *bucket) bool {
	if !p.ahead.suffices(&b.shape.amount) {
		return false
	}
	v := verdict{rights: p.rightsOf(b), version: p.version}
	if last := &b.shape.ahead; v.rights != noRights && last.rights == v.rights && last.version == v.version {
		return last.fits
	}
	v.fits = b.shape.milli == 0 || p.gpusFit(q, &p.ahead)
	b.shape.ahead = v
	return v.fits
}
