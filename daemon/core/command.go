package core

import (
	"fmt"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

func (c *Core) command(e Command, now time.Time) {
	r := pendingReply{Reply: Reply{Token: e.Token}, id: e.What.Job}
	switch e.What.Kind {
	case job.CommandCancel:
		r.Refusal = c.cancel(e, now)
	case job.CommandSignal:
		r.Refusal = c.signal(e)
	case job.CommandPauseGPU, job.CommandResumeGPU:
		r.Refusal = c.pause(e, now)
	default:
		r.Refusal = refuse(job.RefusedUsage, fmt.Sprintf("unknown command %q", e.What.Kind), "")
	}
	c.replies = append(c.replies, r)
}

// mine finds the live job a command names and checks the right to act on it.
func (c *Core) mine(e Command) (*live, *job.Refusal) {
	l := c.jobs[e.What.Job]
	if l == nil {
		return nil, refuse(job.RefusedNotFound, fmt.Sprintf("there is no job %d that waits or runs", e.What.Job), "see 'gpusched list -a'")
	}
	if !e.Who.MayControl(l.job.Owner) {
		return nil, refuse(job.RefusedForbidden, fmt.Sprintf("job %d belongs to %s", l.job.ID, l.job.Owner.User), "only its owner and administrators may do that")
	}
	return l, nil
}

func (c *Core) cancel(e Command, now time.Time) *job.Refusal {
	l, refusal := c.mine(e)
	if refusal != nil {
		return refusal
	}
	if l.job.State == job.Queued {
		l.job.Result = &job.Result{Outcome: job.Cancelled, By: e.Who.User}
		c.move(l, job.Cancelled, now)
		return nil
	}
	c.halt(l, job.StopCancel, e.Who.User, now)
	return nil
}

// halt tells a live job to stop. The first cause stays. A start that is under
// way is let finish, so that its unit is known.
func (c *Core) halt(l *live, cause job.StopCause, by string, now time.Time) {
	if l.job.Stop != "" || l.job.State == job.Ending {
		return
	}
	l.job.Stop, l.job.StopBy = cause, by
	c.touch(l)
	if l.job.State == job.Running {
		c.wind(l, now)
	}
}

func (c *Core) signal(e Command) *job.Refusal {
	l, refusal := c.mine(e)
	if refusal != nil {
		return refusal
	}
	if l.job.State != job.Running {
		return refuse(job.RefusedConflict, fmt.Sprintf("job %d is %s, not running", l.job.ID, l.job.State), "a signal reaches running jobs only")
	}
	c.act(Signal{Job: l.job.ID, Signal: e.What.Signal})
	return nil
}

func (c *Core) pause(e Command, now time.Time) *job.Refusal {
	for _, d := range c.devices {
		if d.Index != e.What.GPU {
			continue
		}
		if d.UUID == "" {
			return refuse(job.RefusedConflict, fmt.Sprintf("the driver does not say which GPU number %d is", e.What.GPU), "nothing is placed on it anyway until it answers; see 'gpusched health'")
		}
		g := job.GPUControl{UUID: d.UUID, Paused: e.What.Kind == job.CommandPauseGPU, At: now, By: e.Who.User}
		if g.Paused {
			g.Reason = e.What.Reason
		}
		c.controls[d.UUID] = g
		c.out.Records = append(c.out.Records, Record{GPU: &g})
		c.replan = true
		return nil
	}
	return refuse(job.RefusedNotFound, fmt.Sprintf("there is no GPU %d", e.What.GPU), "see 'gpusched gpus'")
}
