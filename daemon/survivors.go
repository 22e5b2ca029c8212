package daemon

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/gpusched/gpusched/cgroup"
	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units"
)

// describeSurvivors returns a sentence about processes of a job that SIGKILL did not end. Everybody
// can read the sentence, so it names no programs.
func (x *executor) describeSurvivors(ctx context.Context, id job.ID) string {
	st, err := x.opt.Units.Status(ctx, units.Name(int64(id)))
	if err != nil || x.opt.Inside == nil {
		return ""
	}
	return survivors(x.opt.Inside(st.ControlGroup))
}

// leftRunning returns how many processes were left in the unit when the job's command ended. It
// omits processes that serve the job, and helpers that end by themselves shortly afterwards.
func (x *executor) leftRunning(a core.Stop) (n int) {
	for looks := 0; looks < 2; looks++ {
		if n = x.running(a); n == 0 {
			break
		}
		if looks == 0 {
			x.host.Wakeup().Wait(x.host.Now().Add(endsWithIt))
		}
	}
	return n
}

// endsWithIt is the longest time by which a helper may outlive the command.
const endsWithIt = 50 * time.Millisecond

func (x *executor) running(a core.Stop) (n int) {
	if x.opt.Inside == nil {
		return 0
	}
	for _, p := range x.opt.Inside(x.opt.Scope.ControlGroup(a.UID, units.Name(int64(a.Job)))) {
		if p.Name != launcherName && p.State != 'Z' && p.State != '?' { // the other processes serve the job or have ended
			n++
		}
	}
	return n
}

// launcherName is the name of processes that serve a job: they copy its output, or run commands for
// its owner.
const launcherName = "gpusched-job"

// maxNamed limits the processes that a list names.
const maxNamed = 3

func survivors(list []cgroup.Process) string {
	if len(list) == 0 {
		return ""
	}
	var pids []string
	held := false
	for i, p := range list {
		if i < maxNamed {
			pids = append(pids, strconv.Itoa(p.PID))
		}
		held = held || p.State == 'D'
	}
	if len(list) > maxNamed {
		pids = append(pids, fmt.Sprintf("%d more", len(list)-maxNamed))
	}
	text := "process " + pids[0]
	if len(list) > 1 {
		text = "processes " + strings.Join(pids, ", ")
	}
	text += " did not end after SIGKILL"
	if held {
		text += ", the kernel did not let go (state D)"
	}
	return text
}
