package core

import (
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/gpu"
)

// The next tick comes with the first of all that is to happen at a time.
func TestNextTick(t *testing.T) {
	in := func(n int) time.Time { return noon.Add(time.Duration(n) * time.Minute) }
	runs := func(j job.Job) func(*Core) {
		j.ID, j.State, j.Attempt = 1, job.Running, &job.Attempt{StartedAt: noon}
		return func(c *Core) { c.jobs.placed[1] = &trackedJob{id: j.ID, job: &j} }
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
		"one that waits":   {func(c *Core) { c.jobs.timed.set(1, in(5)) }, in(5)},
		"a reservation":    {func(c *Core) { c.reservations.list = []job.Reservation{{To: in(6)}, {To: in(4)}} }, in(4)},
		"another plan":     {func(c *Core) { c.planning.replanTime = in(2) }, in(2)},
		"a GPU to look at": {func(c *Core) { c.gpus.devices = []*device{{}, {cleanup: &cleanup{next: in(1)}}} }, in(1)},
		"a pause": {func(c *Core) {
			c.gpus.devices = []*device{{Device: gpu.Device{UUID: "a"}}}
			c.gpus.controls["a"] = job.GPUControl{UUID: "a", Paused: true, Until: in(8)}
		}, in(8)},
		"a pause without end": {func(c *Core) {
			c.gpus.devices = []*device{{Device: gpu.Device{UUID: "a"}}}
			c.gpus.controls["a"] = job.GPUControl{UUID: "a", Paused: true}
		}, time.Time{}},
		"the first of all": {func(c *Core) {
			runs(job.Job{Request: limited})(c)
			c.jobs.timed.set(2, in(5))
			c.gpus.devices = []*device{{cleanup: &cleanup{next: in(6)}}}
		}, in(5)},
	} {
		core := started(Policy{}, job.Restored{})
		c.set(core)
		if got := core.Deadline(); !got.Equal(c.want) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
