package dst

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/core/site"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/gpu"
)

// useKey identifies an attempt's use of one GPU.
type useKey struct{ attempt, uuid string }

// A useRecord has what the daemon was told about the use of GPUs, and what the daemon told owners
// about that use.
type useRecord struct {
	bytes  map[useKey]int64         // GPU memory in the last sample
	alive  map[useKey]bool          // a sample showed a process of the attempt alive on the GPU
	busy   map[string]time.Duration // when a sample last showed that an attempt computes
	warned map[string]time.Duration // when an attempt was last told that it is over budget
	prompt map[string]time.Duration // when an attempt was last told that it is idle
}

func newUses() useRecord {
	return useRecord{map[useKey]int64{}, map[useKey]bool{}, map[string]time.Duration{}, map[string]time.Duration{},
		map[string]time.Duration{}}
}

// recordSample records what a sample shows.
func (u *useRecord) recordSample(w *World, s *gpu.Snapshot) {
	for i := range s.Devices {
		d := &s.Devices[i]
		shown := map[useKey]bool{}
		for _, p := range d.Processes {
			r := w.runOf(p)
			if r == nil || p.Dead {
				continue // dead processes compute nothing
			}
			key := attemptKey(r.job, r.attempt)
			at := useKey{key, d.UUID}
			if was, seen := u.bytes[at]; r.hasGPU(d.UUID) && (d.UtilGPUPercent != 0 || seen && was != p.UsedBytes) {
				u.busy[key] = w.Elapsed
			}
			u.bytes[at], u.alive[at], shown[at] = p.UsedBytes, true, true
		}
		maps.DeleteFunc(u.bytes, func(at useKey, _ int64) bool { return at.uuid == d.UUID && !shown[at] })
	}
}

// forgetBusy notes what a new process of the daemon cannot know: that a job has computed since it
// was warned of its idleness, and how much memory earlier samples showed.
func (w *World) forgetBusy() {
	clear(w.tracked.uses.bytes)
	told := func(a job.Allocation) bool { return a.Use.IdleWarned > 0 }
	for id, on := range w.disk.jobs {
		if on.Attempt != nil && slices.ContainsFunc(on.Attempt.GPUs, told) {
			delete(w.tracked.uses.busy, attemptKey(id, on.Attempt.Number))
		}
	}
}

// recordWarning records a warning to an owner.
func (u *useRecord) recordWarning(w *World, t core.NotifyOwner) {
	j := w.tracked.mirror.jobs[t.Job]
	if j.Attempt == nil {
		return
	}
	key := attemptKey(t.Job, j.Attempt.Number)
	for _, m := range t.Say {
		switch m.Code {
		case "notice/over-budget", "notice/over-budget-stop":
			u.warned[key] = w.Elapsed
			w.count("warned of memory")
		case "notice/idle", "notice/idle-stop":
			u.prompt[key] = w.Elapsed
			w.count("warned of idleness")
		}
	}
}

// judgeStopFor checks invariant 12 for a job that is to be stopped because of its use of GPUs. The
// mirror does not have the decisions of this step yet.
func (w *World) judgeStopFor(n *job.Job) {
	if n.Stop == w.tracked.mirror.jobs[n.ID].Stop || n.Attempt == nil {
		return
	}
	j, key, why := w.tracked, attemptKey(n.ID, n.Attempt.Number), ""
	u, p := &j.uses, &j.policy.Usage
	switch n.Stop {
	case job.StopGPUMem:
		why = cmp.Or(w.whyUnwarned(key, p.Memory, u.warned, p.MemoryGrace), w.nobodyShort(n))
	case job.StopIdle:
		why = w.whyUnwarned(key, p.Idle, u.prompt, p.IdleGrace)
		if why == "" && u.busy[key] > u.prompt[key] {
			why = "it computed after its warning"
		}
	default:
		return
	}
	w.count("stopped by the site: " + string(n.Stop))
	if why != "" {
		w.breach(12, "job %d is to be stopped (%s), and %s", n.ID, n.Stop, why)
	}
}

// isSteady reports whether no clock has jumped. A short jump looks like the passage of time.
func (w *World) isSteady() bool { return w.Counts[string(clock)]+w.Counts[string(reboot)] == 0 }

// whyUnwarned returns the reason why an attempt may not be stopped, at least not yet. It returns ""
// if the attempt may be stopped.
func (w *World) whyUnwarned(key string, does site.Response, warned map[string]time.Duration, grace time.Duration) string {
	told, yes := warned[key]
	switch {
	case does != site.WarnAndStop:
		return "the site does not want that"
	case !yes:
		return "it was not warned"
	case w.isSteady() && w.Elapsed-told < grace:
		return "it was warned " + (w.Elapsed - told).String() + " ago"
	}
	return ""
}

// nobodyShort returns a reason if a job is stopped for another job, although the stopped job takes
// no memory that was promised to that other job.
func (w *World) nobodyShort(n *job.Job) string {
	u, key := &w.tracked.uses, attemptKey(n.ID, n.Attempt.Number)
	if n.StopFor == n.ID || n.StopFor == 0 {
		return "nobody is short"
	}
	for _, ref := range n.Attempt.GPUs {
		used := u.bytes[useKey{key, ref.UUID}] + w.strayBytes(ref.UUID, n.Owner.UID)
		if used > ref.Budget() && ref.Budget() > 0 && w.shortOf(ref.UUID, n.StopFor) {
			return ""
		}
	}
	return "it is within its budget where job " + n.StopFor.String() + " is short of its own"
}

// strayBytes returns the GPU memory of a user's processes outside units. This memory may count as
// memory of any job of that user, as if the processes came from that job's unit.
func (w *World) strayBytes(uuid string, uid int) (bytes int64) {
	if d := w.toldOf(uuid); d != nil {
		for _, p := range d.Processes {
			if w.runOf(p) == nil && person(p.UID) == uid && p.Kind != gpu.KindGraphics {
				bytes += max(0, p.UsedBytes)
			}
		}
	}
	return bytes
}

// shortOf reports whether a job lacks part of its promise on a GPU, and the free memory is not
// enough for all such jobs.
func (w *World) shortOf(uuid string, id job.ID) bool {
	j, free, owed, short := w.tracked, int64(0), int64(0), false
	if d := w.toldOf(uuid); d != nil {
		free = int64(d.MemFreeBytes)
	}
	for _, o := range j.mirror.jobs {
		if !o.State.Live() || o.Stop != "" || o.State == job.Ending {
			continue
		}
		for _, ref := range o.HeldGPUs() {
			unusedPromise := ref.Budget() - j.uses.bytes[useKey{attemptKey(o.ID, o.Attempt.Number), uuid}]
			if ref.UUID == uuid && unusedPromise > 0 {
				owed += unusedPromise
				short = short || o.ID == id
			}
		}
	}
	return short && owed > free
}

// judgeQuota checks invariant 13 for the owner of a placed job and for the owner's groups. The
// members of a group are known from the jobs on record and the jobs of this process. The mirror
// already has the decisions of this step, so ended jobs have made room.
func (w *World) judgeQuota(placed *job.Job) {
	j, uid := w.tracked, placed.Owner.UID
	w.judgeShare(placed, j.quota(placed), placed.Owner.User, map[int]bool{uid: true})
	for name, q := range j.policy.Quotas.Groups {
		if members := j.books.members[name]; members[uid] {
			w.judgeShare(placed, q, "group "+name, members)
		}
	}
}

// judgeShare checks that the jobs of some users together are within a quota.
func (w *World) judgeShare(placed *job.Job, q job.Quota, who string, uids map[int]bool) {
	jobs, milli := 0, 0
	for _, o := range w.tracked.mirror.jobs {
		if uids[o.Owner.UID] && o.State.Live() {
			jobs++
			milli += o.Request.QuotaMilli()
		}
	}
	if q.Running > 0 && jobs > q.Running || placed.Request.GPUMilli > 0 && q.GPUMilli > 0 && milli > q.GPUMilli {
		w.breach(13, "%s runs %d jobs with %d thousandths of GPUs with job %d, above the quotas of %d and %d", who, jobs, milli,
			placed.ID, q.Running, q.GPUMilli)
	}
}

// judgeAdmitted checks invariant 13 for a new job. The mirror does not have the job yet.
func (w *World) judgeAdmitted(n *job.Job) {
	p, q := &w.tracked.policy, w.tracked.quota(n)
	waiting, bytes := 1, n.Weight()
	for _, o := range w.tracked.mirror.jobs {
		if o.Owner.UID != n.Owner.UID || o.State.Terminal() {
			continue
		}
		bytes += o.Weight()
		if o.State == job.Queued {
			waiting++
		}
	}
	if q.Queued > 0 && waiting > q.Queued {
		w.breach(13, "%d jobs of %s wait with job %d, above the quota of %d", waiting, n.Owner.User, n.ID, q.Queued)
	}
	if p.MaxBytes > 0 && bytes > p.MaxBytes {
		w.breach(13, "the jobs of %s take %d bytes with job %d, above the limit of %d", n.Owner.User, bytes, n.ID, p.MaxBytes)
	}
}
