package dst

import (
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// tenure is the time during which an attempt had GPUs, measured by a clock that is never set.
type tenure struct {
	uid       int
	refs      []job.Allocation
	rates     []rateSince
	decided   map[*job.Job]int // number of rates when each record of this process was decided
	written   int              // number of rates that are on record
	from, to  time.Duration    // to is negative until the end is decided
	submitted time.Time
	ended     time.Duration // end according to the job's record; may be earlier than the field to

	// These are set if the machine went off during the tenure, and otherwise 0. offAt is the time
	// when the machine went off. sureUntil is the time until which the job surely ran. heardAt is
	// the time when a process of the daemon heard that the machine went off. From then until the
	// job's end is on record, the tenure counts again.
	offAt, sureUntil, heardAt time.Duration
}

// rateSince is the lowest rate that fair share may count, and the time from which it applies.
type rateSince struct {
	at     time.Duration
	milli  int
	noGPUs bool // the job is parked
}

// noteRate notes the rate that fair share counts for a job's attempt.
func (h *tenure) noteRate(n *job.Job, at time.Duration) {
	rate := rateSince{at, max(n.Charge, n.Shared), n.Park == job.IsParked}
	if last := len(h.rates) - 1; last < 0 || h.rates[last].milli != rate.milli || h.rates[last].noGPUs != rate.noGPUs {
		h.rates = append(h.rates, rate)
	}
	h.decided[n] = len(h.rates)
}

// undo removes rates that were decided but not written.
func (h *tenure) undo() {
	clear(h.decided)
	h.rates = h.rates[:h.written]
}

// noteWritten notes that a record of a job is on disk. The rates that were decided up to that
// record are then on disk as well.
func (b *books) noteWritten(n *job.Job) {
	if n.Attempt == nil {
		return
	}
	if h := b.holds[attemptKey(n.ID, n.Attempt.Number)]; h != nil {
		h.written = max(h.written, h.decided[n])
	}
}

// highestRate returns the highest rate of the tenure, in GPUs.
func (h *tenure) highestRate() int {
	most := len(h.refs)
	for _, r := range h.rates {
		most = max(most, r.milli/job.WholeGPU+1)
	}
	return most
}

func (h *tenure) open() bool { return h.to < 0 }

func (h *tenure) has(uuid string) bool {
	return slices.ContainsFunc(h.refs, func(r job.Allocation) bool { return r.UUID == uuid })
}

// belongsTo reports whether the tenure belongs to this job. It does if both have the same user, and
// the same GPUs or time of submission: a parked job may move to other GPUs, and a job that is known
// from its unit has another time.
func (h *tenure) belongsTo(n *job.Job) bool {
	same := func(a, b job.Allocation) bool { return a.UUID == b.UUID }
	return h.uid == n.Owner.UID && (h.submitted.Equal(n.SubmittedAt) || slices.EqualFunc(h.refs, n.Attempt.GPUs, same))
}

// books has the GPUs and groups of users over time.
type books struct {
	holds   map[string]*tenure // tenures by attempt
	members map[string]map[int]bool
	lives   int
	alive   time.Duration // when a record last said that the machine is on
	off     time.Duration // when the machine first went off since the last process began; 0: it has not
}

func newBooks() books {
	return books{holds: map[string]*tenure{}, members: map[string]map[int]bool{}}
}

// noteRecord notes what a record says about GPUs and groups.
func (w *World) noteRecord(n *job.Job) {
	b := &w.tracked.books
	b.join(n)
	if n.Attempt == nil {
		return
	}
	key := attemptKey(n.ID, n.Attempt.Number)
	h := b.holds[key]
	again := h != nil && w.tracked.lost && !h.open() && n.Attempt.EndedAt.IsZero()
	if h == nil || !h.belongsTo(n) || again { // after a loss of the state file, another job may get the same number
		h = &tenure{
			uid: n.Owner.UID, submitted: n.SubmittedAt, decided: map[*job.Job]int{}, from: w.Elapsed, to: -1,
		}
		b.holds[key] = h
	}
	h.refs = n.Attempt.GPUs
	if h.open() {
		h.noteRate(n, w.Elapsed)
	}
	if h.open() && !n.Attempt.EndedAt.IsZero() {
		h.to = w.Elapsed
		h.ended = min(max(w.Elapsed-w.wall().Sub(n.Attempt.EndedAt), h.from), w.Elapsed)
	}
}

func (b *books) join(n *job.Job) {
	for _, g := range n.Owner.Groups {
		if b.members[g] == nil {
			b.members[g] = map[int]bool{}
		}
		b.members[g][n.Owner.UID] = true
	}
}

// reopen corrects the books when a process starts: decisions that were not written count as not
// made.
func (w *World) reopen(r *job.Restored) {
	b := &w.tracked.books
	b.lives++
	clear(b.members)
	open := map[string]bool{}
	for i := range r.Jobs {
		n := &r.Jobs[i]
		b.join(n)
		if n.Attempt != nil && n.Attempt.EndedAt.IsZero() {
			key := attemptKey(n.ID, n.Attempt.Number)
			open[key] = true
			if h := b.holds[key]; h != nil {
				h.undo()
			}
		}
	}
	b.cutShort(open, w.Elapsed)
	for key, h := range b.holds {
		switch {
		case open[key]:
			h.to = -1
		case (h.open() || h.written == 0) && !w.tracked.lost:
			delete(b.holds, key)
		}
	}
}

// goOff notes that the machine goes off.
func (b *books) goOff(now time.Duration) {
	if b.off == 0 {
		b.off = now
	}
}

// cutShort notes the attempts that ended because the machine went off. The daemon knows only that
// they ran until the last record that says that the machine is on.
func (b *books) cutShort(open map[string]bool, now time.Duration) {
	for key, h := range b.holds {
		if b.off > 0 && open[key] && h.offAt == 0 {
			h.offAt, h.sureUntil, h.heardAt = b.off, max(h.from, b.alive), now
		}
	}
	b.off = 0
}

// ranFor returns the time until which an attempt surely had its GPUs. After that the attempt may
// have ended unseen.
func (w *World) ranFor(key string, h *tenure) time.Duration {
	until := h.ended
	if h.open() {
		until = w.Elapsed
	}
	if h.offAt > 0 {
		until = min(until, h.sureUntil)
	}
	r := w.tracked.truth[key]
	switch {
	case r == nil && h.open():
		return h.from
	case r != nil && r.ended != 0:
		return min(until, max(h.from, r.ended))
	}
	return until
}

// decayedUse returns a bound on a user's decayed use: the upper bound if upper is true, otherwise
// the lower bound. If charged is true, the use is what fair share counts, otherwise GPU time.
func (w *World) decayedUse(uid int, charged, upper bool, half time.Duration) time.Duration {
	now := w.Elapsed
	sum := 0.0
	for key, h := range w.tracked.books.holds {
		to := h.to
		if h.open() {
			to = now
		}
		switch {
		case !upper:
			to = min(to, w.ranFor(key, h))
		case h.offAt > 0:
			to = min(to, h.offAt) + max(0, to-h.heardAt)
		}
		if h.uid != uid {
			continue
		}
		milli := 0
		for _, r := range h.refs {
			milli += max(r.ChargeMilli, r.Share())
		}
		life := float64(half) / math.Ln2
		decayed := func(since time.Duration) float64 { return math.Exp2(-float64(now-since) / float64(half)) }
		over := func(from, to time.Duration, milli int) {
			to = max(from, to)
			sum += float64(milli) / job.WholeGPU * life * (decayed(to) - decayed(from))
		}
		for i, r := range h.rates {
			end, rate := to, milli
			if i+1 < len(h.rates) {
				end = h.rates[i+1].at
			}
			if r.noGPUs {
				rate = 0
			}
			if charged {
				rate = max(rate, r.milli)
			}
			over(r.at, min(end, to), rate)
		}
	}
	return time.Duration(sum)
}

// isExact reports whether the daemon can know how long jobs have had their GPUs. The daemon cannot
// know this if a clock jumped and a process of the daemon ended: a part of the time is then lost.
func (w *World) isExact() bool {
	return !w.tracked.lost && (w.isSteady() || w.Counts[string(reboot)] == 0 && w.tracked.books.lives == 1)
}

// maxError is the possible error of the time that is charged for each GPU of a job. The clock may
// make two steps, each of less than a second, that nobody recognizes as steps.
const maxError = 2 * time.Second

// judgeUsage checks invariant 15 for a record of a user's use.
func (w *World) judgeUsage(u *job.Usage) {
	uid, err := strconv.Atoi(u.Account[1:])
	if err != nil || !w.isExact() {
		return
	}
	p := &w.tracked.policy.Sched
	slack := maxError
	for _, h := range w.tracked.books.holds {
		slack += maxError * time.Duration(max(1, h.highestRate()))
	}
	for i, micro := range []int64{u.Micro, u.Counts.Charge} {
		charged := i == 1
		is := time.Duration(micro) * time.Microsecond
		least, most := w.decayedUse(uid, charged, false, p.HalfLife), w.decayedUse(uid, charged, true, p.HalfLife)
		if is < least-slack || is > most+slack {
			w.breach(15, "user %d has used %v by the record and had %v to %v, all resources: %t", uid, is, least, most, charged)
		}
	}
}

// judgeHours checks the GPU-hours of invariant 13 for the owner of a placed job.
func (w *World) judgeHours(placed *job.Job) {
	j := w.tracked
	most := time.Duration(j.quota(placed).GPUHours) * time.Hour
	if most == 0 || placed.Request.GPUMilli == 0 || !w.isExact() {
		return
	}
	used := w.decayedUse(placed.Owner.UID, false, false, j.policy.Sched.HalfLife)
	if used > most+maxError*time.Duration(len(j.books.holds)) {
		w.breach(13, "job %d is placed, and %s has used %v of the %v of GPU time", placed.ID, placed.Owner.User, used, most)
	}
}

// quota returns the quota of the job's owner.
func (j *judge) quota(n *job.Job) job.Quota {
	if q, own := j.policy.Quotas.Users[n.Owner.User]; own {
		return q
	}
	return j.policy.Quotas.Default
}
