package sched

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

// roomFor reports whether a job of the bucket fits into what is left now behind
// some reservations.
func (p *Planner) roomFor(b *bucket, mask uint32) bool {
	if !p.hostBehind(mask).suffices(&b.shape.amount) {
		return false
	}
	if b.shape.milli == 0 {
		return true
	}
	q := query{shape: b.shape, account: b.account, at: p.s.Now, when: whenNow}
	if !p.fitsAtStart(q) || !p.gpusFit(&q, &p.now) {
		return false
	}
	return mask == 0 || p.gpusFit(&q, p.capacityBehind(&q, &p.now, mask))
}

// fitsAtStart reports whether the GPUs of a shape were there as the pass began, whoever
// they are reserved for: where they were not, they are not later in it.
func (p *Planner) fitsAtStart(q query) bool {
	f := q.shape.footprint
	if f.atStart == unasked {
		q.open = true
		f.atStart = answerOf(p.gpusFit(&q, &p.start))
	}
	return f.atStart == yes
}

// fitsEver reports whether a job of the shape fits once all has come back that is
// expected to, and no reservation of an administrator is in its way.
func (p *Planner) fitsEver(sh *resourceShape) bool {
	if !p.final.suffices(&sh.amount) {
		return false
	}
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
