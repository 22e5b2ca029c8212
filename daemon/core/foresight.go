package core

import (
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
)

// Foresight is a forecast as of the moment of a question. All share it who ask until
// something changes, or for foresightFor, and it is carried out by those who ask and as far
// as they ask: the core only makes the copies that it needs. It is not the core's any
// more, and must be used by one goroutine at a time.
type Foresight struct {
	Number   uint64 // that of one made later is higher; 0: it is of what was only tried, and of use to nobody else
	forecast *sched.Forecast
	scene    *scene // what a course is told with; nil: none was asked for
}

// foresightFor is for how long a forecast is as good as a new one where nothing has
// changed but the time.
const foresightFor = time.Second

// foresights is the last forecast, for the next who asks.
type foresights struct {
	last    *Foresight
	of      uint64 // the number of changes when it was made
	made    time.Time
	changes uint64
}

// Foresee returns the forecast as of now; nil while no job starts.
func (c *Core) Foresee(now time.Time) *Foresight {
	if c.gpus.closed(now) != nil || c.systemd.everybodys().several {
		return nil
	}
	if f := c.planning.foreseen(now); f != nil {
		return f
	}
	f := c.foreseeAlone(now, nil)
	c.planning.foresee(f, now)
	return f
}

// foreseeAlone makes a forecast for one who asks, with a job that is only tried, if any.
func (c *Core) foreseeAlone(now time.Time, tried *trackedJob) *Foresight {
	return &Foresight{forecast: c.planning.Forecast(c.snapshotWithEfforts(now), c.planning.Queue, c.believed(tried))}
}

// believed says what is believed of run times, also that of a job that is only tried, if any.
func (c *Core) believed(tried *trackedJob) func(job.ID) *sched.Estimate {
	return func(id job.ID) *sched.Estimate {
		if tried != nil && id == tried.id {
			return c.estimate(tried)
		}
		return c.estimate(c.jobs.get(id))
	}
}

// foreseen returns the last forecast, nil where that is not good any more.
func (p *planning) foreseen(now time.Time) *Foresight {
	k := &p.ahead
	if k.last == nil || k.of != k.changes || now.Before(k.made) || now.Sub(k.made) >= foresightFor {
		return nil
	}
	return k.last
}

// foresee keeps a forecast for the next who asks.
func (p *planning) foresee(f *Foresight, now time.Time) {
	k := &p.ahead
	if f.Number = 1; k.last != nil {
		f.Number = k.last.Number + 1
	}
	k.last, k.of, k.made = f, k.changes, now
}

// changed notes that a forecast may come out otherwise: a step has planned anew, or there
// is something to record of it.
func (p *planning) changed() { p.ahead.changes++ }

// Foretell fills in when the job is expected to start, if it waits.
func (f *Foresight) Foretell(v *job.JobView) {
	f.ForetellWhile(func() bool { return true }, v)
}

// ForetellWhile does so while it is asked for, which it returns. What it has found out by then
// is not lost.
func (f *Foresight) ForetellWhile(asked func() bool, v *job.JobView) bool {
	never := slices.ContainsFunc(v.Reasons, func(r job.Reason) bool { return r.Code == job.ReasonTooMuch })
	if f == nil || v.State != job.Queued || never {
		return asked()
	}
	if !f.forecast.GoOn(asked, v.ID) {
		return false
	}
	r := f.forecast.Start(v.ID)
	if v.Start.Unknown = r.Unknown; r.Likely > 0 {
		v.Start = startOf(r)
	}
	return true
}
