package sched

import (
	"math"
	"math/bits"
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// reference decides by the rules of doc.go in the plainest way: it sorts all
// jobs and looks at each, computing everything anew. Of the package it uses
// Account.Used and the types.
type reference struct {
	s       *Snapshot
	jobs    []refJob
	now     machine
	kept    []refKept
	place   []Placement
	news    map[*Account]*refNew
	gates   map[*Gate]int
	given   map[refKind]bool // up: none of its jobs gets a reservation in this pass
	started []refRun
}

// refKind is what jobs have in common that differ in when they came only.
type refKind struct {
	priority job.Priority
	account  *Account
	shape    string
	run      time.Duration
}

func kindOf(j refJob) refKind {
	return refKind{j.Request.Priority, j.Account, shapeKey(j.Request), j.whole}
}

type refNew struct{ jobs, milli int }

type refJob struct {
	*Waiting
	score   float64
	guarded bool
	run     time.Duration
	whole   time.Duration // the expected run time, whatever the limit
	stay    time.Duration // how long it may be in the way
}

type refKept struct {
	id     job.ID
	at     Instant
	grants []Grant
	mem    int64
	end    Instant
	rest   machine
}

type refRun struct {
	end    Instant
	grants []Grant
	mem    int64
}

// machine is what can be given out at a moment.
type machine struct {
	gpus  []refGPU
	mem   int64
	slots int
}

type refGPU struct {
	ok    bool
	milli int
	jobs  int
	mem   int64
	since Instant
}

func (m machine) clone() machine {
	m.gpus = slices.Clone(m.gpus)
	return m
}

// add gives out with sign -1 and takes back with +1.
func (m *machine) add(sign int, grants []Grant, mem int64) {
	for _, g := range grants {
		m.gpus[g.GPU].milli += sign * g.Milli
		m.gpus[g.GPU].mem += int64(sign) * g.Bytes
		m.gpus[g.GPU].jobs -= sign
	}
	m.mem += int64(sign) * mem
	m.slots += sign
}

func newReference(s *Snapshot, waiting []*Waiting) *reference {
	r := &reference{s: s, news: map[*Account]*refNew{}, gates: map[*Gate]int{}, given: map[refKind]bool{}}
	r.now.mem, r.now.slots = math.MaxInt64/2, math.MaxInt/2
	if s.Host.MemBytes > 0 {
		r.now.mem = max(0, s.Host.MemBytes-s.Host.PromisedMem)
	}
	if s.Host.MaxRunning > 0 {
		r.now.slots = max(0, s.Host.MaxRunning-s.Host.Running)
	}
	for _, g := range s.GPUs {
		x := refGPU{ok: g.State == OK, milli: 1000, jobs: len(g.Held), mem: g.MemFreeBytes, since: s.Now}
		for _, h := range g.Held {
			x.milli -= h.Milli
			if h.PromiseBytes > h.SeenBytes {
				x.mem -= h.PromiseBytes - h.SeenBytes
			}
		}
		r.now.gpus = append(r.now.gpus, x)
	}
	for _, w := range waiting {
		r.jobs = append(r.jobs, r.value(w))
	}
	slices.SortFunc(r.jobs, r.compare)
	return r
}

// value is what rule "Order" says of one job.
func (r *reference) value(w *Waiting) refJob {
	seconds := max(1, (int64(w.Expected)+int64(time.Second)-1)/int64(time.Second))
	run := time.Second << bits.Len64(uint64(seconds-1))
	j := refJob{Waiting: w, run: run, whole: run}
	if w.Request.TimeLimit > 0 {
		j.run = min(run, w.Request.TimeLimit)
	}
	p := &r.s.Policy
	if j.stay = j.run; w.Request.Preemptible {
		j.stay = min(j.run, p.Slice)
	}
	if p.FIFO {
		return j
	}
	factor := 1.0
	if all := float64(len(r.s.GPUs)) * (float64(p.HalfLife) / math.Ln2); all > 0 {
		used := float64(w.Account.Used(r.s.Now, p.HalfLife))
		factor = math.Exp2(-min(64, used/all/float64(max(1, w.Account.Share))))
	}
	wait := max(0, r.s.Now-w.Since)
	j.score = factor * (1 + float64(wait)*(1/float64(run)))
	j.guarded = r.s.GuardOpen && p.GuardAfter > 0 && time.Duration(wait) > p.GuardAfter
	return j
}

func (r *reference) compare(a, b refJob) int {
	x, y := a.Request.Priority, b.Request.Priority
	order := []float64{float64(y.Class - x.Class), float64(y.Number - x.Number), 0, 0, float64(a.Since - b.Since), float64(a.ID - b.ID)}
	if a.guarded != b.guarded {
		order[2] = 1
		if a.guarded {
			order[2] = -1
		}
	}
	if !a.guarded && !b.guarded && a.score != b.score {
		order[3] = 1
		if a.score > b.score {
			order[3] = -1
		}
	}
	for _, o := range order {
		if o != 0 {
			return int(math.Copysign(1, o))
		}
	}
	return 0
}

// decide is rule "Placement".
func (r *reference) decide() {
	for _, j := range r.jobs {
		for range j.Count {
			if j.Gate != nil && r.gates[j.Gate] >= j.Gate.Left || r.capped(j.Waiting) {
				break
			}
			left := r.leftFor(j)
			if !r.fits(j.Waiting, left, r.s.Now, false) {
				if len(r.kept) < r.s.Policy.ReservationDepth {
					r.keep(j)
				}
				break
			}
			r.start(j, r.choose(j.Waiting, left))
		}
	}
}

func (r *reference) start(j refJob, grants []Grant) {
	r.place = append(r.place, Placement{Job: j.ID, Grants: grants, Guarded: j.guarded})
	r.now.add(-1, grants, j.Request.MemBytes)
	end := r.s.Now.Add(j.run)
	for i := range r.kept {
		if r.s.Now.Add(j.stay) > r.kept[i].at {
			r.kept[i].rest.add(-1, grants, j.Request.MemBytes)
		}
	}
	r.started = append(r.started, refRun{end, grants, j.Request.MemBytes})
	for _, a := range append([]*Account{j.Account}, j.Account.Groups...) {
		n := r.new(a)
		n.jobs++
		n.milli += j.Request.GPUMilli
	}
	if j.Gate != nil {
		r.gates[j.Gate]++
	}
}

func (r *reference) new(a *Account) *refNew {
	if r.news[a] == nil {
		r.news[a] = &refNew{}
	}
	return r.news[a]
}

func (r *reference) capped(w *Waiting) bool {
	for _, a := range append([]*Account{w.Account}, w.Account.Groups...) {
		n, milli := r.new(a), w.Request.GPUMilli
		if a.MaxJobs > 0 && a.Jobs+n.jobs+1 > a.MaxJobs {
			return true
		}
		if milli > 0 && a.MaxMilli > 0 && a.Milli+n.milli+milli > a.MaxMilli {
			return true
		}
		if half := r.s.Policy.HalfLife; milli > 0 && half > 0 && a.MaxUsage > 0 && a.Used(r.s.Now, half) >= a.MaxUsage {
			return true
		}
	}
	return false
}

// leftFor is what is free now and stays free at each shadow before which the
// job does not end.
func (r *reference) leftFor(j refJob) machine {
	left := r.now.clone()
	for _, k := range r.kept {
		if r.s.Now.Add(j.stay) <= k.at {
			continue
		}
		for i := range left.gpus {
			a, b := &left.gpus[i], k.rest.gpus[i]
			a.ok, a.milli, a.mem = a.ok && b.ok, min(a.milli, b.milli), min(a.mem, b.mem)
		}
		left.mem, left.slots = min(left.mem, k.rest.mem), min(left.slots, k.rest.slots)
	}
	return left
}

// usable lists the GPUs that would do as whole ones and those that would do for
// the part.
func (r *reference) usable(w *Waiting, m machine, at Instant, ahead bool) (whole, part []int) {
	q := w.Request
	for i := range r.s.GPUs {
		g, x := &r.s.GPUs[i], m.gpus[i]
		if !x.ok || x.milli <= 0 || !r.allowed(w, g, i, at) || !ahead && !r.calm(q, g) {
			continue
		}
		if x.milli == 1000 && x.mem >= q.GPUMemBytes {
			whole = append(whole, i)
		}
		need, slack := q.GPUMemBytes, int64(0)
		if need == 0 {
			need, slack = g.UsableBytes/1000*int64(q.Part()), g.SlackBytes
		}
		if q.Part() > 0 && x.milli >= q.Part() && x.mem+slack >= need {
			part = append(part, i)
		}
	}
	return whole, part
}

func (r *reference) allowed(w *Waiting, g *GPU, pos int, at Instant) bool {
	q := w.Request
	if len(q.GPUIDs) > 0 && !slices.Contains(q.GPUIDs, g.Index) || len(q.GPUIDs) == 0 && len(q.GPUsFrom) > 0 && !slices.Contains(q.GPUsFrom, g.Index) {
		return false
	}
	if q.GPUType != "" && !g.isType(q.GPUType) || g.MemTotalBytes < q.GPUMemBytes {
		return false
	}
	run := 24 * time.Hour
	if q.TimeLimit > 0 {
		run = q.TimeLimit
	}
	for _, v := range r.s.Reserved {
		mine := slices.Contains(v.UIDs, w.Account.UID)
		for _, group := range w.Account.Groups {
			mine = mine || slices.Contains(v.Groups, group.Name)
		}
		if v.GPUs[pos] && !mine && at < v.To && at.Add(run) > v.From {
			return false
		}
	}
	return true
}

// calm tells whether the load and the memory in use are within all bounds.
func (r *reference) calm(q *job.Request, g *GPU) bool {
	for _, bound := range []int{q.MaxLoadPercent, r.s.Policy.MaxLoadPercent} {
		if bound > 0 && g.LoadPercent > bound {
			return false
		}
	}
	used := int((g.MemTotalBytes - g.MemFreeBytes) * 100 / max(1, g.MemTotalBytes))
	for _, bound := range []int{q.MaxUsedPercent, r.s.Policy.MaxUsedPercent} {
		if bound > 0 && used > bound {
			return false
		}
	}
	return g.MemFreeBytes >= r.s.Policy.MinFreeBytes
}

func without(list []int, x int) []int {
	return slices.DeleteFunc(slices.Clone(list), func(i int) bool { return i == x })
}

func (r *reference) fits(w *Waiting, m machine, at Instant, ahead bool) bool {
	if w.Request.MemBytes > m.mem || m.slots < 1 {
		return false
	}
	whole, part := r.usable(w, m, at, ahead)
	if w.Request.Part() == 0 {
		return len(whole) >= w.Request.Whole()
	}
	return slices.ContainsFunc(part, func(i int) bool { return len(without(whole, i)) >= w.Request.Whole() })
}

// choose is rule "Choice".
func (r *reference) choose(w *Waiting, m machine) []Grant {
	q := w.Request
	whole, part := r.usable(w, m, r.s.Now, false)
	var out []Grant
	if q.Part() > 0 {
		part = slices.DeleteFunc(part, func(i int) bool { return len(without(whole, i)) < q.Whole() })
		best := slices.MinFunc(part, func(a, b int) int { return r.comparePart(q, m, a, b) })
		out = append(out, r.partOf(q, best))
		whole = without(whole, best)
	}
	for _, i := range r.bestSet(whole, q.Whole()) {
		out = append(out, Grant{GPU: i, Milli: 1000, Bytes: q.GPUMemBytes})
	}
	slices.SortFunc(out, func(a, b Grant) int { return a.GPU - b.GPU })
	return out
}

func (r *reference) partOf(q *job.Request, i int) Grant {
	bytes := q.GPUMemBytes
	if bytes == 0 {
		bytes = r.s.GPUs[i].UsableBytes / 1000 * int64(q.Part())
	}
	return Grant{GPU: i, Milli: q.Part(), Bytes: bytes}
}

func (r *reference) comparePart(q *job.Request, m machine, a, b int) int {
	if x, y := r.s.GPUs[a].Foreign, r.s.GPUs[b].Foreign; x != y {
		if x {
			return 1
		}
		return -1
	}
	room := m.gpus[a].milli - m.gpus[b].milli
	if q.Spread {
		room = -room
	}
	for _, d := range []int{room, m.gpus[a].jobs - m.gpus[b].jobs} {
		if d != 0 {
			return d
		}
	}
	return a - b
}

// bestSet compares all sets of n: those with the fewest GPUs in foreign use,
// then by the links inside, then by those left to the others, then the lowest
// positions. Where there are enough GPUs of our own the others do not count.
func (r *reference) bestSet(list []int, n int) []int {
	own := slices.DeleteFunc(slices.Clone(list), func(i int) bool { return r.s.GPUs[i].Foreign })
	if len(own) >= n {
		list = own
	}
	var best []int
	var worth [3]int64
	subsets(list, n, func(set []int) {
		v := r.worthOf(list, set)
		if best == nil || slices.Compare(v[:], worth[:]) > 0 {
			best, worth = slices.Clone(set), v
		}
	})
	return best
}

func (r *reference) worthOf(list, set []int) (v [3]int64) {
	for _, i := range set {
		if r.s.GPUs[i].Foreign {
			v[0]--
		}
	}
	if len(r.s.Links) == 0 {
		return v
	}
	for x, a := range list {
		for _, b := range list[:x] {
			link := int64(r.s.Links[a*len(r.s.GPUs)+b])
			switch in, too := slices.Contains(set, a), slices.Contains(set, b); {
			case in && too:
				v[1] += link
			case !in && !too:
				v[2] += link
			}
		}
	}
	return v
}

// subsets calls with each set of n of the list, the lowest positions first.
func subsets(list []int, n int, with func([]int)) {
	set := make([]int, 0, n)
	var grow func(from int)
	grow = func(from int) {
		if len(set) == n {
			with(set)
			return
		}
		for i := from; i < len(list); i++ {
			set = append(set, list[i])
			grow(i + 1)
			set = set[:len(set)-1]
		}
	}
	grow(0)
}

// keep makes a reservation, if the job fits at a moment to come. A job that
// only the load of a GPU keeps from starting gets none, nor do those like it.
func (r *reference) keep(j refJob) {
	if r.given[kindOf(j)] {
		return
	}
	base := r.now.clone()
	for _, k := range r.kept {
		base.add(-1, k.grants, k.mem)
	}
	if r.fits(j.Waiting, base, r.s.Now, true) {
		r.given[kindOf(j)] = true
		return
	}
	for _, at := range r.moments() {
		if m := r.machineAt(base, at); r.fits(j.Waiting, m, at, true) {
			k := refKept{id: j.ID, at: at, mem: j.Request.MemBytes, end: at.Add(j.run), grants: r.latest(j.Waiting, m, at), rest: m}
			k.rest.add(-1, k.grants, k.mem)
			r.kept = append(r.kept, k)
			return
		}
	}
}

// ends lists all that comes back, GPUs not counted.
func (r *reference) ends() (list []refRun) {
	for _, x := range r.s.Running {
		list = append(list, refRun{max(x.End, r.s.Now), x.Grants, x.MemBytes})
	}
	list = append(list, r.started...)
	for _, k := range r.kept {
		list = append(list, refRun{k.end, k.grants, k.mem})
	}
	return list
}

func (r *reference) moments() (list []Instant) {
	for _, e := range r.ends() {
		list = append(list, e.end)
	}
	for _, g := range r.s.GPUs {
		if g.State != OK && g.BackAt > 0 {
			list = append(list, max(g.BackAt, r.s.Now))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func (r *reference) machineAt(base machine, at Instant) machine {
	m := base.clone()
	for _, e := range r.ends() {
		if e.end > at {
			continue
		}
		m.add(1, e.grants, e.mem)
		for _, g := range e.grants {
			m.gpus[g.GPU].since = max(m.gpus[g.GPU].since, e.end)
		}
	}
	for i, g := range r.s.GPUs {
		if g.State != OK && g.BackAt > 0 && g.BackAt <= at {
			m.gpus[i].ok = true
			m.gpus[i].since = max(m.gpus[i].since, g.BackAt)
		}
	}
	return m
}

// latest chooses the GPUs that become free latest: whole ones first, and the
// part on one that is left. Where none is, it goes to the last of the whole
// ones that would do, in whose place the first other comes.
func (r *reference) latest(w *Waiting, m machine, at Instant) []Grant {
	q := w.Request
	whole, part := r.usable(w, m, at, true)
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
		out = append(out, Grant{GPU: i, Milli: 1000, Bytes: q.GPUMemBytes})
	}
	slices.SortFunc(out, func(a, b Grant) int { return a.GPU - b.GPU })
	return out
}
