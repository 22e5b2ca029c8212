package core_test

import (
	"testing"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

// A job whose container ended because Docker was restarted is lost, as after a reboot: it starts
// again if it may. The exit status says nothing about the job.
func TestDockerRestartedUnderAJob(t *testing.T) {
	for _, requeue := range []bool{true, false} {
		w := runningWorld(t, 1, func(r *job.Request) { r.Requeue, r.ContainerEngine = &requeue, contract.Docker })
		u := w.units[1]
		u.Phase, u.Exit = core.Exited, contract.Exit{Code: 125, Engine: true}
		w.step(core.Changed{Job: 1}, -1)
		w.settle()
		w.step(w.sample(0), -1)
		w.settle()
		first := w.ends[0]
		if r := first.Result; r.Outcome != job.Lost || r.Detail.Code != "detail/docker" || r.ExitCode != 0 {
			t.Errorf("requeue %t: %+v", requeue, r)
		}
		if j := w.jobs[1]; (j.State == job.Lost) == requeue {
			t.Errorf("requeue %t: the job is %s", requeue, j.State)
		}
	}
}
