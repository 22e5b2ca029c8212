package sched

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/predict"
)

// A reference is a second scheduler, which decides by the rules of doc.go in the plainest way: it
// sorts all jobs, looks at each job, and keeps no results for reuse. It uses only a part of the
// package: the types, the constants of the rules, and Account.Used, GPUTime and Capped. Each file
// reference_*_test.go has one rule.
type reference struct {
	s       *Snapshot
	jobs    []refJob
	now     machine
	kept    []refKept
	place   []Placement
	preempt []Preemption
	freed   machine         // what is free once jobs that are stopped for others have ended
	soon    machine         // like the field freed, but without what late victims free
	looked  map[job.ID]bool // jobs for which victims were sought
	news    map[*Account]*refNew
	gates   map[*Lane]int    // starts of this pass in each lane
	given   map[refKind]bool // jobs of these kinds get no further reservation in this pass
	vain    map[string]bool  // requests for which no reservation was possible
	tries   map[*Account]int // how many such requests each account has made
	most    int              // the maximum of each value in tries
	started []refRun
	begun   []refBegun
	placed  bool       // the pass now looks for jobs to stop
	held    []job.ID   // jobs that fit, but wait for other jobs of their account
	users   []*Account // users with waiting or running jobs
	waiting []*Waiting
}

// refKind identifies jobs that differ only in the time of their arrival.
type refKind struct {
	priority job.Priority
	account  *Account
	request  string // the whole request
	run      time.Duration
	late     time.Duration
	batch    string
	extent   refExtent // the job's size in a batch
	measure  time.Duration
	program  predict.Kind
	untried  bool
	again    bool
	owed     bool
	known    bool
	lane     turn // the own lane and the limit there
	returns  bool
}

type refNew struct {
	jobs, milli, cpus int
	mem               int64
}

type refJob struct {
	*Waiting
	since   Instant
	turn    Instant // the moment since which the wait counts in the score
	score   float64 // the score of the job once it runs, without its batch
	place   refPlace
	guarded bool
	run     time.Duration
	lateRun time.Duration
	kind    refKind
}

func newReference(s *Snapshot, waiting []*Waiting) *reference {
	r := &reference{s: s, news: map[*Account]*refNew{}, gates: map[*Lane]int{}, given: map[refKind]bool{}, looked: map[job.ID]bool{}, vain: map[string]bool{}, tries: map[*Account]int{}, most: maxFailedShapes}
	const plenty = math.MaxInt / 2
	h := s.Host
	r.now.mem, r.now.cpus, r.now.slots = plenty, plenty, plenty
	r.now.noGPUMem, r.now.noGPUCPUs, r.now.noGPUSlots = plenty, plenty, plenty
	for _, x := range []struct {
		left       *int
		have, gone int
	}{
		{&r.now.cpus, h.CPUs, h.PromisedCPUs}, {&r.now.slots, h.MaxRunning, h.Running},
		{&r.now.noGPUCPUs, h.NoGPUCPUs, 0}, {&r.now.noGPUSlots, h.NoGPUSlots, 0},
	} {
		if x.have > 0 {
			*x.left = x.have - x.gone
		}
	}
	if h.MemBytes > 0 {
		r.now.mem = h.MemBytes - h.PromisedMem
	}
	if h.NoGPUMem > 0 {
		r.now.noGPUMem = h.NoGPUMem
	}
	for _, x := range s.Running {
		if hostOf(&x).noGPUs {
			r.now.noGPUMem -= x.MemBytes
			r.now.noGPUCPUs -= x.CPUs
			r.now.noGPUSlots--
			r.now.noGPUJobs++
		}
	}
	for _, g := range s.GPUs {
		x := refGPU{ok: g.State == OK, milli: 1000, jobs: len(g.Held), mem: g.MemFreeBytes, since: s.Now}
		for _, h := range g.Held {
			x.milli -= h.Milli
			x.mates = append(x.mates, h.Mates)
			if h.PromiseBytes > h.SeenBytes {
				x.mem -= h.PromiseBytes - h.SeenBytes
			}
		}
		if g.State == Cleaning { // what the last job used is free when another starts
			mem := g.MemTotalBytes - g.ForeignBytes
			for _, h := range g.Held {
				mem -= max(h.PromiseBytes, h.SeenBytes)
			}
			x.mem = max(x.mem, mem)
		}
		r.now.gpus = append(r.now.gpus, x)
	}
	r.users, r.waiting = activeUsers(s, waiting), waiting
	for _, w := range waiting {
		r.jobs = append(r.jobs, r.value(w))
	}
	r.standBehind()
	slices.SortFunc(r.jobs, r.compare)
	return r
}

// cutOff reports whether the job, if started now, might still run when the planned shutdown or
// reboot of the machine begins.
func (r *reference) cutOff(j refJob) bool {
	q, run := j.Request, 24*time.Hour
	switch {
	case q.TimeLimit > 0:
		run = q.TimeLimit.Duration()
	case j.Known:
		run = j.lateRun
	}
	if q.Preemptible && q.Requeue != nil && *q.Requeue {
		return false
	}
	return r.s.End.To > 0 && r.s.Now < r.s.End.To && r.s.Now.Add(run) > r.s.End.From
}

// value applies rule "Order" to one job.
func (r *reference) value(w *Waiting) refJob {
	run := powerOfTwo(w.Expected)
	atQuota := w.Account.Capped(quotaCount(w.Request), r.s.Now) - w.Capped
	if w.Returns {
		atQuota = 0
	}
	late := max(run, powerOfTwo(w.Late))
	kind := refKind{
		w.Request.Priority, w.Account, requestText(w), run, late, w.Batch, refExtent{}, refMeasure(w), predict.Kind{}, false, false, w.Owed, w.Known && w.Request.TimeLimit == 0, turn{}, w.Returns,
	}
	if w.Request.Preemptible || w.Parks || w.Returns {
		kind.program, kind.untried, kind.again = w.Program, w.Untried, w.Served > 0 || w.Returns
	}
	j := refJob{Waiting: w, since: w.Since.Add(atQuota), run: run, lateRun: late, kind: kind}
	if w.Batch != "" {
		j.kind.extent = refExtentOf(w)
		j.run = time.Duration(j.kind.extent.length) * time.Second
	}
	if late == run {
		j.lateRun = j.run
	}
	j.place = refPlace{0, j.since, w.ID}
	if w.Request.TimeLimit > 0 {
		j.run = min(j.run, w.Request.TimeLimit.Duration())
		j.lateRun = min(j.lateRun, w.Request.TimeLimit.Duration())
	}
	j.turn = j.since
	for t := w.Throttle; t != nil; t = t.Next { // an own lane: the wait counts since the lane had room
		l := t.Lane
		if l.own {
			j.kind.lane = turn{l, t.Limit}
		}
		if l.own && t.Limit <= len(l.left) {
			j.turn = max(j.turn, l.left[t.Limit-1])
		} else if l.own {
			j.turn = max(j.turn, l.since)
		}
	}
	p := &r.s.Policy
	if p.FIFO {
		return j
	}
	wait := max(0, r.s.Now-j.turn)
	j.score = 1 + r.factor(w.Account)*float64(wait)*(1/float64(refMeasure(w)))
	j.place.score = j.score
	j.guarded = r.s.GuardOpen && p.GuardAfter > 0 && time.Duration(wait) > p.GuardAfter
	return j
}

// requestText returns a job's request without its priority, as text.
func requestText(w *Waiting) string {
	placeless := *w.Request
	placeless.Priority = job.Priority{}
	placeless.Preemptible = placeless.Preemptible && placeless.MayRequeue() // such a job starts before a shutdown
	text, err := json.Marshal(placeless)
	if err != nil {
		panic(err)
	}
	return fmt.Sprint(string(text), w.Parks || w.Request.Preemptible, w.Returns)
}

// powerOfTwo rounds a duration up to a power of two seconds.
func powerOfTwo(d time.Duration) time.Duration {
	run := time.Second
	for run < d {
		run *= 2
	}
	return run
}

func (r *reference) compare(a, b refJob) int {
	x, y := a.Request.Priority, b.Request.Priority
	by := cmp.Or(cmp.Compare(y.Class, x.Class), cmp.Compare(y.Number, x.Number))
	switch {
	case by != 0:
		return by
	case a.Owed != b.Owed && !r.s.Policy.FIFO:
		return truth(b.Owed) - truth(a.Owed)
	case a.guarded && b.guarded:
		return cmp.Or(cmp.Compare(a.since, b.since), cmp.Compare(a.ID, b.ID))
	case a.guarded:
		return -1
	case b.guarded:
		return 1
	}
	return cmp.Or(comparePlaces(a.place, b.place), compareInBatch(a, b))
}

// decide applies rule "Placement", and then rule "Preemption" to the jobs that are left.
func (r *reference) decide() {
	r.placeAll()
	r.preemptAll()
}

func (r *reference) placeAll() {
	for _, j := range r.jobs {
		if r.cutOff(j) {
			continue
		}
		for range j.Count {
			if !r.isOpen(j) || r.capped(j.Waiting) {
				break
			}
			left := r.leftFor(j)
			if !r.hasRoomFor(j.Waiting, left, r.s.Now, whenNow) {
				if len(r.kept) < r.s.Policy.ReservationDepth {
					r.reserve(j)
				}
				break
			}
			if r.behindOwn(j) {
				r.held = append(r.held, j.ID)
				break
			}
			r.start(j, r.choose(j.Waiting, left, whenNow), r.cpusFor(j, left))
		}
	}

}

// cpusFor returns the number of CPUs that a job counts for. A job that names a number counts
// for that many. Any other job counts for its GPUs' part of the CPUs, or for fewer if the machine or
// the job's quotas have fewer left.
func (r *reference) cpusFor(j refJob, left machine) int {
	w := j.Waiting
	if w.Returns {
		return 0
	}
	if w.Request.CPUs > 0 || len(r.s.GPUs) == 0 {
		return w.Request.CPUs
	}
	n := min(left.cpus, r.s.Host.GPUCPUs*w.Request.GPUMilli/1000/len(r.s.GPUs))
	for _, a := range append([]*Account{w.Account}, w.Account.Groups...) {
		if _, has := a.Promised(); a.MaxCPUs > 0 {
			n = min(n, a.MaxCPUs-has-r.new(a).cpus)
			if use, ok := r.remainingQuota(j, a); ok {
				n = min(n, a.MaxCPUs-use.cpus)
			}
		}
	}
	return max(n, 0)
}

func (r *reference) start(j refJob, grants []Grant, cpus int) {
	r.place = append(r.place, Placement{Job: j.ID, Grants: grants, CPUs: cpus, Guarded: j.guarded})
	r.now.add(-1, grants, j.host(cpus))
	ends := refEnds{r.s.Now.Add(j.run), r.s.Now.Add(j.lateRun)}
	for i := range r.kept {
		if r.inWay(j, r.kept[i]) {
			r.kept[i].rest.add(-1, grants, j.host(cpus))
		}
	}
	r.started = append(r.started, refRun{ends, grants, j.host(cpus)})
	r.count(j, cpus)
}

// count counts a start for the account, its groups and its lanes.
func (r *reference) count(j refJob, cpus int) {
	if j.Returns {
		return // it counts already
	}
	for _, a := range append([]*Account{j.Account}, j.Account.Groups...) {
		n := r.new(a)
		n.jobs++
		n.milli += quotaCount(j.Request)
		n.cpus += cpus
		n.mem += j.Request.MemBytes
	}
	use := useOf(j.Waiting)
	use.cpus = cpus
	r.begun = append(r.begun, refBegun{use, j.Account, r.s.Now.Add(j.run)})
	for t := j.Throttle; t != nil; t = t.Next {
		r.gates[t.Lane]++
	}
}

// isOpen reports whether all lanes of the job have room. While jobs are placed, reservations keep
// places in lanes from jobs that do not end before the first reserved start.
func (r *reference) isOpen(j refJob) bool {
	for t := j.Throttle; t != nil; t = t.Next {
		kept, soonest := 0, Never
		for _, k := range r.kept {
			for o := k.then.Throttle; o != nil && !r.placed; o = o.Next {
				if o.Lane == t.Lane {
					kept, soonest = kept+1, min(soonest, k.at)
				}
			}
		}
		if r.s.Now.Add(j.run) <= soonest {
			kept = 0
		}
		if t.Lane.Running+r.gates[t.Lane]+kept >= t.Limit {
			return false
		}
	}
	return true
}

func (r *reference) new(a *Account) *refNew {
	if r.news[a] == nil {
		r.news[a] = &refNew{}
	}
	return r.news[a]
}

func (r *reference) capped(w *Waiting) bool {
	if w.Returns {
		return false
	}
	if w.Request.GPUMilli == 0 && r.now.noGPUSlots < 1 {
		return true
	}
	if w.Account.Barred != "" {
		return true
	}
	for _, a := range append([]*Account{w.Account}, w.Account.Groups...) {
		n, milli := r.new(a), quotaCount(w.Request)
		if a.MaxJobs > 0 && a.Jobs+n.jobs+1 > a.MaxJobs {
			return true
		}
		if milli > 0 && a.MaxMilli > 0 && a.Milli+n.milli+milli > a.MaxMilli {
			return true
		}
		mem, cpus := a.Promised()
		if q := w.Request.MemBytes; a.MaxMem > 0 && q > 0 && mem+n.mem+q > a.MaxMem {
			return true
		}
		if q := w.Request.CPUs; a.MaxCPUs > 0 && q > 0 && cpus+n.cpus+q > a.MaxCPUs {
			return true
		}
		if half := r.s.Policy.HalfLife; milli > 0 && half > 0 && a.MaxUsage > 0 && a.GPUTime(r.s.Now, half) >= a.MaxUsage {
			return true
		}
	}
	return false
}

// inWay reports whether the job, if it starts now, may still run at the reserved start.
func (r *reference) inWay(j refJob, k refKept) bool {
	run, late := j.run, j.lateRun
	if by := k.then.standing(r.s); (j.Request.Preemptible || j.Parks) && r.yieldsTo(j.runningStanding(), by) {
		gone := r.s.Policy.Slice
		if by.Priority == j.Request.Priority && !by.guarded && (by.milli <= j.Request.GPUMilli || !by.most) {
			gone = r.turn(j.Served)
		}
		run, late = min(run, gone), min(late, gone)
	}
	return r.s.Now.Add(run) > k.at && r.s.Now.Add(late) > k.late
}

// leftFor returns what is free now, without what must stay free because the job would delay
// reservations.
func (r *reference) leftFor(j refJob) machine { return r.reduce(r.now, j, r.kept) }

// reduce subtracts from a machine what the listed reservations keep from the job. These are only
// the reservations that the job would delay. It subtracts nothing on a GPU that an advance
// reservation gives to the job's account, but not to the account of the reserved job.
func (r *reference) reduce(m machine, j refJob, kept []refKept) machine {
	left := m.clone()
	for _, k := range kept {
		if !r.inWay(j, k) {
			continue
		}
		for i := range left.gpus {
			if a, b := &left.gpus[i], k.rest.gpus[i]; !r.ownsGPU(j.Account, i) || r.ownsGPU(k.then.Account, i) {
				a.ok, a.milli, a.mem = a.ok && b.ok, min(a.milli, b.milli), min(a.mem, b.mem)
				a.mates = slices.Concat(a.mates, b.mates)
			}
		}
		left.mem, left.slots = min(left.mem, k.rest.mem), min(left.slots, k.rest.slots)
		left.cpus, left.noGPUCPUs = min(left.cpus, k.rest.cpus), min(left.noGPUCPUs, k.rest.noGPUCPUs)
		left.noGPUMem, left.noGPUSlots = min(left.noGPUMem, k.rest.noGPUMem), min(left.noGPUSlots, k.rest.noGPUSlots)
		left.noGPUJobs = max(left.noGPUJobs, k.rest.noGPUJobs)
	}
	return left
}

// ownsGPU reports whether an advance reservation gives the GPU to the account now.
func (r *reference) ownsGPU(a *Account, gpu int) bool {
	return slices.ContainsFunc(r.s.Reserved, func(v AdvanceReservation) bool {
		return v.GPUs[gpu] && v.From <= r.s.Now && r.s.Now < v.To && v.allows(a)
	})
}

// quotaCount returns what a request counts in quotas of GPUs, in thousandths. A part that chooses
// its GPU counts as a whole GPU.
func quotaCount(q *job.Request) int {
	if q.GPUMilli%1000 == 0 {
		return q.GPUMilli
	}
	if q.Spread || q.GPUIDs != nil || q.GPUsFrom != nil || q.ExcludeGPUs != nil || q.MaxLoadPercent > 0 || q.MaxUsedPercent > 0 {
		return q.GPUMilli - q.GPUMilli%1000 + 1000
	}
	return q.GPUMilli
}
