package sim

import (
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
)

// Traces do not say how much GPU memory jobs use. A job that asks for no amount uses between
// leastMemory and mostMemory of each GPU, all amounts equally likely, or its part of that.
const (
	gib         = 1 << 30
	leastMemory = 8 * gib
	mostMemory  = 70 * gib
)

// drawParking draws which jobs can be parked, and how much GPU memory each job uses.
func (e *engine) drawParking() {
	e.parks = choose(len(e.jobs), e.opt.Parkable, random(e.opt.Seed, streamParkable))
	rng := random(e.opt.Seed, streamMemory)
	for i := range e.jobs {
		j := &e.jobs[i]
		used := leastMemory + rng.Int64N(mostMemory-leastMemory)
		if part := int64(j.GPUMilli % 1000); part > 0 {
			used = used * part / 1000
		}
		switch {
		case j.GPUMemBytes > 0:
			used = j.GPUMemBytes
		case e.opt.Parkable == 0:
			used = 0
		}
		e.memory = append(e.memory, min(used, e.opt.GPUMemBytes))
	}
}

// copied is the time at which the copy of a job's GPU memory will be complete.
type copied struct {
	at   time.Duration
	job  job.ID
	park bool // from the GPUs to the host
}

func (c copied) before(o copied) bool { return c.at < o.at || c.at == o.at && c.job < o.job }

// copyTime returns how long the GPU memory of a unit takes to be copied.
func (e *engine) copyTime(u *unit) time.Duration {
	bytes := float64(u.memory) * float64(len(u.refs))
	return time.Duration(bytes / gib * float64(e.opt.Park)).Truncate(tick)
}

// beginCopy begins to copy a job's GPU memory. The job halts, and its GPUs are busy until that is
// done.
func (e *engine) beginCopy(a *core.Park, park bool) error {
	id, u := a.Job, e.machine.units[a.Job]
	if u == nil || u.Phase != core.Active {
		return nil
	}
	at := int(id) - 1
	if e.copies.push(copied{e.now + e.copyTime(u), id, park}); park {
		lost, progress := e.progress(u)
		e.runs[at].left -= progress
		e.runs[at].owes = false
		e.ledger.entries[at].extra += lost
		u.turn++
		return nil
	}
	u.refs = a.GPUs
	if err := e.machine.enter(u, e.now); err != nil {
		return err
	}
	e.ledger.start(at, u, e.now)
	return nil
}

// finishCopy lets go of the GPUs of a parked job, or lets a job that has returned run on.
func (e *engine) finishCopy(c copied) error {
	u, at := e.machine.units[c.job], int(c.job)-1
	took := e.copyTime(u)
	answer := core.Parked{Job: c.job, Attempt: u.attempt, Took: took}
	if c.park {
		e.machine.leave(u)
		e.ledger.recordLeave(at, u, took, true, e.now)
		return e.feed(answer)
	}
	e.ledger.entries[at].extra += took
	u.begun = e.now
	e.ends.push(end{e.now + e.runs[at].left, c.job, u.attempt, u.turn})
	return e.feed(core.Unparked(answer))
}
