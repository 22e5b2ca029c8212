package tracked

import (
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
)

// laneKey names a lane: that of an array with a limit, or one that jobs name, which is the site's
// or one person's.
type laneKey struct {
	array job.ID
	site  bool
	uid   int
	name  string
}

type lane struct {
	sched.Lane
	jobs int // waiting and running
}

// Lanes contains the lanes that waiting or running jobs are in.
type Lanes struct {
	inUse map[laneKey]*lane
	site  map[string]int // limits of the site's lanes
}

// place is a lane in which a job counts, with the limit that the job respects there.
type place struct {
	laneKey
	limit int
}

// of returns the lanes in which a job counts.
func (in *Lanes) of(l *Job) (list []place) {
	r := &l.Request
	if a := r.Array; a != nil && a.Limit > 0 {
		id := l.ID
		if l.Task != nil {
			id = l.Task.Array
		}
		list = append(list, place{laneKey{array: id}, a.Limit})
	}
	if name := r.Lane.Name(); name != "" {
		most, ofSite := in.site[name]
		list = append(list, place{laneKey{uid: l.Person().UID, name: name}, r.Lane.Limit(ofSite)})
		if ofSite {
			list = append(list, place{laneKey{site: true, name: name}, most})
		}
	}
	return list
}

// Enter puts a new job into its lanes. The job does not count as running there.
func (in *Lanes) Enter(l *Job) {
	at := &l.Throttle
	for _, p := range in.of(l) {
		x := in.inUse[p.laneKey]
		if x == nil {
			x = &lane{}
			if p.array == 0 && !p.site {
				x.Lane = sched.OwnLane()
			}
			in.inUse[p.laneKey] = x
		}
		x.jobs++
		*at = &sched.Throttle{Limit: p.limit, Lane: &x.Lane}
		at = &(*at).Next
	}
}

// Leave takes a job out of its lanes. The job must not count as running.
func (in *Lanes) Leave(l *Job) { in.dropEmpty(in.leave(l)) }

// leave is like Leave, but keeps lanes that have no jobs left.
func (in *Lanes) leave(l *Job) []place {
	left := in.of(l)
	for _, p := range left {
		in.inUse[p.laneKey].jobs--
	}
	l.Throttle = nil
	return left
}

func (in *Lanes) dropEmpty(list []place) {
	for _, p := range list {
		if x := in.inUse[p.laneKey]; x != nil && x.jobs == 0 {
			delete(in.inUse, p.laneKey)
		}
	}
}

// Change carries out a change after which the given jobs may be in other lanes, or have other
// limits there. Callers put those that wait back into the queue.
func (in *Lanes) Change(list []*Job, change func()) {
	var left []place
	count := func(l *Job, n int) {
		if l.State.Live() {
			l.Throttle.Count(n)
		}
	}
	for _, l := range list {
		count(l, -1)
		left = append(left, in.leave(l)...)
	}
	change()
	for _, l := range list {
		in.Enter(l)
		count(l, 1)
	}
	in.dropEmpty(left)
}

// Restart makes all waits in people's lanes begin now.
func (in *Lanes) Restart(now time.Time) {
	for _, x := range in.inUse {
		x.Restart(sched.At(now))
	}
}

// Shift adjusts the recorded times after the clock was set.
func (in *Lanes) Shift(by time.Duration) {
	for _, x := range in.inUse {
		x.Shift(by)
	}
}

// SetSiteLanes sets the limits of the site's lanes. It returns the jobs that name lanes.
func (b *Book) SetSiteLanes(limits map[string]int) []*Job {
	list := b.Sorted(func(l *Job) bool { return l.Request.Lane != "" })
	b.Lanes.Change(list, func() { b.Lanes.site = limits })
	return list
}

// FullLane returns the reason why a job waits if a lane has no room for it, or nil.
func (b *Book) FullLane(l *Job) []job.Reason {
	full := l.Throttle.Full()
	if full == nil {
		return nil
	}
	r := job.Reason{Code: job.ReasonArrayLimit, GPU: job.NoGPU, Need: int64(full.Limit)}
	for _, p := range b.Lanes.of(l) {
		switch {
		case &b.Lanes.inUse[p.laneKey].Lane != full.Lane || p.array != 0:
			continue
		case p.site:
			r.Code = job.ReasonSiteLane
		default:
			r.Code = job.ReasonLane
		}
		r.Detail, r.Have = job.Text(p.name), int64(full.Lane.Running)
		b.nameRunning(full.Lane, &r)
	}
	return b.NameReasons([]job.Reason{r})
}

// nameRunning names the first jobs that run in a lane.
func (b *Book) nameRunning(in *sched.Lane, r *job.Reason) {
	for l := range b.Live() {
		for t := l.Throttle; t != nil; t = t.Next {
			switch {
			case t.Lane != in:
			case r.Job == 0:
				r.Job = l.ID
			case len(r.Others) < job.MaxHolders-1:
				r.Others = append(r.Others, l.ID)
			}
		}
	}
}
