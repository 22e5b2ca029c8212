package sched

import (
	"math"

	"github.com/gpusched/gpusched/daemon/job"
)

// gpuCapacity is what one GPU has left to give.
type gpuCapacity struct {
	ok    bool
	milli int
	jobs  int
	mem   int64
	since Instant // when it last became more, in a look ahead
}

// capacity is what the machine has left to give at one moment.
type capacity struct {
	gpus []gpuCapacity
	hostCapacity
}

// hostShare is what a job has of the machine besides GPUs.
type hostShare struct {
	mem  int64
	cpus int
}

// hostRoom is what is left of that, and of places to run in. What is not counted has
// so much room that it never ends.
type hostRoom struct {
	hostShare
	slots int // jobs that may start
}

// endless is the room of what is not counted.
const endless = math.MaxInt64 / 2

// roomOf is the room of so much, of which 0 is not counted.
func roomOf(mem int64, cpus, slots int) hostRoom {
	return hostRoom{hostShare{counted(mem), counted(cpus)}, counted(slots)}
}

func counted[T int | int64](n T) T {
	if n == 0 {
		return endless
	}
	return n
}

// move gives back with sign 1 and takes with -1 what so many jobs have.
func (r *hostRoom) move(sign int, h hostShare) {
	r.mem += int64(sign) * h.mem
	r.cpus += sign * h.cpus
	r.slots += sign
}

// clampTo takes r down to what is in both.
func (r *hostRoom) clampTo(o *hostRoom) {
	r.mem, r.cpus, r.slots = min(r.mem, o.mem), min(r.cpus, o.cpus), min(r.slots, o.slots)
}

// has reports whether there is what a job asks. One that asks nothing of something is
// not kept by what others have too much of it.
func (r *hostRoom) has(h hostShare) bool {
	return (h.mem == 0 || h.mem <= r.mem) && r.hasCPUs(h.cpus)
}

func (r *hostRoom) hasCPUs(n int) bool { return n == 0 || n <= r.cpus }

// hostCapacity is what there is besides GPUs.
type hostCapacity struct {
	hostRoom
	noGPU     hostRoom // of this, for jobs that ask no GPU
	noGPUJobs int      // that run: one alone may have more memory
}

// open fills in what is left in the snapshot.
func (l *capacity) open(s *Snapshot) {
	l.gpus = l.gpus[:0]
	for i := range s.GPUs {
		g := &s.GPUs[i]
		l.gpus = append(l.gpus, gpuCapacity{
			ok: g.State == OK, milli: g.share(), jobs: len(g.Held), mem: g.free(), since: s.Now,
		})
	}
	h := &s.Host
	l.hostRoom = roomOf(h.MemBytes, h.CPUs, h.MaxRunning)
	l.mem -= h.PromisedMem
	l.cpus -= h.PromisedCPUs
	l.slots -= h.Running
	l.noGPU, l.noGPUJobs = roomOf(h.NoGPUMem, h.NoGPUCPUs, h.NoGPUSlots), 0
	for i := range s.Running {
		l.moveNoGPU(-1, s.Running[i].Grants, s.Running[i].hostShare())
	}
}

// copyFrom makes l a copy of o.
func (l *capacity) copyFrom(o *capacity) {
	l.gpus = append(l.gpus[:0], o.gpus...)
	l.hostCapacity = o.hostCapacity
}

// clampTo takes r down to what is in both.
func (r *gpuCapacity) clampTo(o *gpuCapacity) {
	r.ok = r.ok && o.ok
	r.milli, r.mem = min(r.milli, o.milli), min(r.mem, o.mem)
}

// moveNoGPU moves what is left for jobs that ask no GPU, where the job is one.
func (l *capacity) moveNoGPU(sign int, grants []Grant, h hostShare) {
	if len(grants) == 0 {
		l.noGPUJobs -= sign
		l.noGPU.move(sign, h)
	}
}

// noGPUHasMem reports whether the share of jobs that ask no GPU has this memory. While none of them runs, one may have
// more, so that none waits for ever.
func (l *hostCapacity) noGPUHasMem(mem int64) bool { return mem <= l.noGPU.mem || l.noGPUJobs == 0 }

// take gives away.
func (l *capacity) take(grants []Grant, h hostShare) {
	for _, g := range grants {
		r := &l.gpus[g.GPU]
		r.milli -= g.Milli
		r.mem -= g.Bytes
		r.jobs++
	}
	l.move(-1, h)
	l.moveNoGPU(-1, grants, h)
}

// giveBack undoes take at a moment.
func (l *capacity) giveBack(grants []Grant, h hostShare, at Instant) {
	for _, g := range grants {
		r := &l.gpus[g.GPU]
		r.milli += g.Milli
		r.mem += g.Bytes
		r.jobs--
		r.since = at
	}
	l.move(1, h)
	l.moveNoGPU(1, grants, h)
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

// admits reports whether a GPU may be considered at all.
func (p *Planner) admits(q *query, l *capacity, i int) bool {
	if r := &l.gpus[i]; !r.ok || r.milli <= 0 || !q.shape.qual[i] {
		return false
	}
	if _, ok := q.shape.tolerates(&p.s.Policy, &p.s.GPUs[i], q.when); !ok {
		return false
	}
	return q.open || q.when == whenEver || p.advanceReservationFor(q, i) == nil
}

// wholeFits and partFits tell what of an admitted GPU would do.
func (p *Planner) wholeFits(q *query, l *capacity, i int) bool {
	r := &l.gpus[i]
	return r.milli == job.WholeGPU && r.mem >= q.shape.gpuMem && !(q.shape.alone && p.s.GPUs[i].Occupied)
}

func (p *Planner) partFits(q *query, l *capacity, i int) bool {
	return !p.s.GPUs[i].WholeOnly && l.gpus[i].milli >= q.shape.part && q.shape.partFits(&p.s.GPUs[i], l.gpus[i].mem)
}

// fits reports whether the capacity has what is asked.
func (p *Planner) fits(q *query, l *capacity) bool {
	return l.suffices(&q.shape.amount) && (q.shape.milli == 0 || p.gpusFit(q, l))
}

// suffices reports whether there is what is asked besides GPUs.
func (h *hostCapacity) suffices(n *amount) bool {
	if h.slots <= 0 || !h.has(n.hostShare) {
		return false
	}
	return n.milli > 0 || h.noGPU.slots > 0 && h.noGPUHasMem(n.mem) && h.noGPU.hasCPUs(n.cpus)
}

// gpusFit reports whether the capacity has the GPUs that are asked.
func (p *Planner) gpusFit(q *query, l *capacity) bool {
	p.looks++
	sh := q.shape
	whole, onlyPart, both := 0, 0, 0
	for i := range l.gpus {
		if r := &l.gpus[i]; !r.ok || r.milli <= 0 || !p.admits(q, l, i) { // most are not free
			continue
		}
		w := p.wholeFits(q, l, i)
		part := sh.part > 0 && p.partFits(q, l, i)
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

// choose picks the GPUs for a query that fits, by position. The result is
// valid until the next call.
func (p *Planner) choose(q *query, l *capacity) []Grant {
	p.grants = p.grants[:0]
	if q.shape.milli == 0 {
		return p.grants
	}
	p.candidates = p.candidates[:0]
	for i := range l.gpus {
		if p.admits(q, l, i) && p.wholeFits(q, l, i) {
			p.candidates = append(p.candidates, i)
		}
	}
	if q.shape.part > 0 {
		p.choosePart(q, l)
	}
	for _, i := range p.chooseSet(p.preferred(p.candidates, q.shape.whole), q.shape.whole) {
		p.grants = append(p.grants, Grant{GPU: i, Milli: job.WholeGPU, Bytes: q.shape.gpuMem})
	}
	sortGrants(p.grants)
	return p.grants
}

// choosePart grants the part and takes its GPU from the candidates for whole
// ones.
func (p *Planner) choosePart(q *query, l *capacity) {
	best := -1
	for i := range l.gpus {
		if !p.admits(q, l, i) || !p.partFits(q, l, i) {
			continue
		}
		if p.wholeFits(q, l, i) && len(p.candidates) <= q.shape.whole {
			continue // needed as a whole one
		}
		if best < 0 || p.betterPart(q.shape, l, i, best) {
			best = i
		}
	}
	p.grants = append(p.grants, Grant{GPU: best, Milli: q.shape.part, Bytes: q.shape.partBytes(&p.s.GPUs[best])})
	for at, i := range p.candidates {
		if i == best {
			p.candidates = append(p.candidates[:at], p.candidates[at+1:]...)
			break
		}
	}
}

// betterPart reports whether GPU a suits a part better than b, of a lower index.
func (p *Planner) betterPart(sh *resourceShape, l *capacity, a, b int) bool {
	x, y := &l.gpus[a], &l.gpus[b]
	switch {
	case p.s.GPUs[a].Foreign != p.s.GPUs[b].Foreign:
		return p.s.GPUs[b].Foreign
	case p.keepsWhole(a) != p.keepsWhole(b):
		return p.keepsWhole(b)
	case p.isSmall(a) != p.isSmall(b):
		return p.isSmall(b)
	case x.milli != y.milli:
		return (x.milli < y.milli) != sh.spread
	}
	return x.jobs < y.jobs
}

// sortGrants orders a few grants by position without allocating.
func sortGrants(list []Grant) {
	for i := 1; i < len(list); i++ {
		for k := i; k > 0 && list[k].GPU < list[k-1].GPU; k-- {
			list[k], list[k-1] = list[k-1], list[k]
		}
	}
}
