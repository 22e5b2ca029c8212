package core

import (
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/core/gpus"
	"github.com/gpusched/gpusched/daemon/core/site"
	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/gpu"
)

// The next tick is due when the first timed event is.
func TestNextTick(t *testing.T) {
	in := func(n int) time.Time { return noon.Add(time.Duration(n) * time.Minute) }
	runs := func(j job.Job) func(*Core) {
		j.ID, j.State, j.Attempt = 1, job.Running, &job.Attempt{StartedAt: noon}
		return func(c *Core) { c.jobs.Sort(&tracked.Job{Job: &j}) }
	}
	pause := func(until time.Time) func(*Core) {
		return func(c *Core) {
			c.Step(Sampled{Number: 1, Snap: gpu.Snapshot{Devices: []gpu.Device{{UUID: "a", Health: gpu.HealthOK}}}}, noon)
			c.Step(Command{What: job.Command{Kind: job.CommandPauseGPU, Until: until}}, noon)
		}
	}
	limited := job.Request{TimeLimit: job.Span(9 * time.Minute), WarnSignal: 10, WarnBefore: job.Span(2 * time.Minute)}
	for name, c := range map[string]struct {
		set  func(*Core)
		want time.Time
	}{
		"nothing":             {func(*Core) {}, time.Time{}},
		"a limit":             {runs(job.Job{Request: job.Request{TimeLimit: job.Span(9 * time.Minute)}}), in(9)},
		"a warning before it": {runs(job.Job{Request: limited}), in(7)},
		"warned":              {runs(job.Job{Request: limited, Life: job.Life{StopOrder: job.StopOrder{Warned: true}}}), in(9)},
		"room to be made": {
			runs(job.Job{Request: limited, Life: job.Life{StopOrder: job.StopOrder{Stop: job.StopPreempt, StopAt: in(3)}}}),
			in(3),
		},
		"no limit": {runs(job.Job{}), time.Time{}},
		"not listed": {func(c *Core) {
			runs(job.Job{Request: limited})(c)
			c.systemd.wasListed = false
		}, time.Time{}},
		"one that waits": {func(c *Core) { c.jobs.SetTimer(1, in(5)) }, in(5)},
		"a reservation": {func(c *Core) {
			c.gpus.Reservations = gpus.NewReservations([]job.Reservation{{To: in(6)}, {To: in(4)}}, 3)
		}, in(4)},
		"another plan":        {func(c *Core) { c.queue.ReplanBy(in(2)) }, in(2)},
		"a pause":             {pause(in(8)), in(8)},
		"a pause without end": {pause(time.Time{}), time.Time{}},
		"the first of all": {func(c *Core) {
			runs(job.Job{Request: limited})(c)
			c.jobs.SetTimer(2, in(5))
			pause(in(6))(c)
		}, in(5)},
	} {
		core := startedCore(site.Policy{}, job.Restored{})
		c.set(core)
		if got := core.Deadline(); !got.Equal(c.want) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
