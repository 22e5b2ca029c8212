package core

import (
	"time"

	"github.com/gpusched/gpusched/daemon/core/gpus"
	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
)

const (
	rebootAgain = time.Minute      // the time until the daemon asks for a reboot again
	forcedAfter = 10 * time.Minute // after the hour of a forced reboot, jobs may take this long to end
)

// rebooting contains the times and results of the daemon's requests for a reboot.
type rebooting struct {
	next    time.Time // no request is sent before this time; zero: a request may be sent now
	refused string    // why the last request failed; "": it did not fail
}

// rebooted ends a drain for a reboot if this is another run of systemd: the machine was rebooted,
// no matter by whom. rebooted is called once the run is known. The daemon need not remember whether
// it asked for the reboot already, since it may safely ask again in the same run.
func rebooted(c *lifecycle, now time.Time) {
	g := gpus.ForReboot(&c.gpus)
	if g == nil {
		return
	}
	r := *g.Reboot
	switch run := c.systemd.runID(); r.Run {
	case run:
	case "":
		r.Run = run
		setReboot(c, &r, now)
	default:
		setReboot(c, nil, now)
	}
}

// setReboot changes the drain for a reboot. If r is nil, setReboot ends the drain.
func setReboot(c *lifecycle, r *job.Reboot, now time.Time) {
	g := gpus.SetReboot(&c.gpus, r, now)
	c.step.record(job.Record{GPU: &g})
}

// reboot takes the next step of a drain for a reboot.
func reboot(c *lifecycle, now time.Time) {
	g := gpus.ForReboot(&c.gpus)
	if g == nil || !c.systemd.listed() || c.systemd.leaving() {
		return
	}
	r := *g.Reboot
	hour := !r.By.IsZero() && !now.Before(r.By)
	idle := c.jobs.ActiveCount() == 0 && !now.Before(c.systemd.rebootNext())
	if !r.Due && (r.By.IsZero() || hour || idle) {
		r.Due = true
		setReboot(c, &r, now)
	}
	if hour {
		for l := range c.jobs.Live() {
			if mayReturn(l) {
				c.requestStop(l, job.StopPreempt, g.By, now)
			}
		}
	}
	if r.Due && len(holdReboot(&c.state, &r, now)) == 0 && !now.Before(c.systemd.rebootNext()) {
		c.systemd.asksReboot(now.Add(rebootAgain))
		c.step.act(Reboot{By: g.By})
	}
}

// mayReturn reports whether a job that is stopped for a reboot returns to the queue.
func mayReturn(l *tracked.Job) bool {
	return !l.Recovered && (l.Request.Preemptible || l.Request.MayRequeue())
}

// holdReboot returns the jobs for which a reboot still waits.
func holdReboot(c *state, r *job.Reboot, now time.Time) (list []*tracked.Job) {
	forced := r.Force && !now.Before(r.By)
	if forced && !now.Before(r.By.Add(forcedAfter)) {
		return nil
	}
	for l := range c.jobs.Live() {
		if !forced || mayReturn(l) {
			list = append(list, l)
		}
	}
	return list
}

// rebootRefused notes that a reboot was refused. Jobs may start again until the hour by which the
// machine has to reboot.
func rebootRefused(c *lifecycle, why string, now time.Time) {
	g := gpus.ForReboot(&c.gpus)
	if g == nil {
		return
	}
	c.systemd.refuseReboot(why)
	if r := *g.Reboot; r.Due && now.Before(r.By) {
		r.Due = false
		setReboot(c, &r, now)
		c.step.replan()
	}
}

// PlannedReboot is a drain for a reboot, with the jobs for which the reboot waits.
type PlannedReboot struct {
	Order   job.GPUControl
	Jobs    []job.Name // the jobs that have to end first
	Refused string     // why the last request for the reboot failed; "": it did not fail
}

// PlannedReboot returns the reboot for which the machine is drained, or nil.
func (c *state) PlannedReboot(now time.Time) *PlannedReboot {
	g := gpus.ForReboot(&c.gpus)
	if g == nil {
		return nil
	}
	holders := job.Each(holdReboot(c, g.Reboot, now), nameOf)
	return &PlannedReboot{Order: *g, Jobs: holders, Refused: c.systemd.rebootProblem()}
}
