package gantt

import (
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// windows are the lengths of time that a picture can show.
var windows = []time.Duration{
	time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour, 48 * time.Hour,
	72 * time.Hour, 7 * 24 * time.Hour,
}

// Window returns the end time for a picture of the plan. All jobs, or the given job, are expected
// to start and end before that time.
func Window(p *api.PlanReply, of job.ID) time.Time {
	last := p.At
	see := func(t time.Time) {
		if t.After(last) {
			last = t
		}
	}
	for i := range p.GPUs {
		for _, s := range p.GPUs[i].Stays {
			if of != 0 && s.Job != of {
				continue
			}
			if see(s.From); s.Until.IsZero() {
				see(s.Late)
			} else {
				see(s.Until)
			}
		}
	}
	for _, w := range windows {
		until := p.At.Add(w)
		if until.After(p.Until) {
			break
		}
		if !until.Before(last) {
			return until
		}
	}
	return p.Until
}
