package client

import (
	"context"
	"fmt"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// holdCmd keeps waiting jobs from starting.
type holdCmd struct{ manyFlags }

func (*holdCmd) About() About { return acting(isWaiting) }

func (c *holdCmd) Run(ctx context.Context, a *app) error {
	return c.act(ctx, a, kindOfJobs{"hold", "waits and is not held", job.CommandHold}, func(j api.Job) string {
		return fmt.Sprintf("is held until 'gpusched release %s'%s", nameOfJob(j), othersRun(j))
	})
}

// releaseCmd undoes hold.
type releaseCmd struct{ manyFlags }

func (*releaseCmd) About() About { return acting(func(j api.Job) bool { return j.Held() }) }

func (c *releaseCmd) Run(ctx context.Context, a *app) error {
	return c.act(ctx, a, kindOfJobs{"release", "is held", job.CommandRelease}, func(j api.Job) string {
		if j.HeldBy != "" || waitsAgain(j) && j.Array.Held == j.Array.Waiting {
			return fmt.Sprintf("is still held: it belongs to %s, and whoever had held it releases it once more", j.User)
		}
		return "released" + a.queuePosition(j)
	})
}

// othersRun names the tasks of an array that something which is for waiting ones did not reach.
func othersRun(j api.Job) string {
	if j.Array == nil || j.Array.RunningTasks == "" {
		return ""
	}
	if j.Array.Live-j.Array.Waiting == 1 {
		return fmt.Sprintf("; task %s runs on", nameOfJob(j)+"_"+j.Array.RunningTasks)
	}
	return fmt.Sprintf("; tasks %s_[%s] run on", nameOfJob(j), j.Array.RunningTasks)
}

// suspendCmd halts running jobs.
type suspendCmd struct{ manyFlags }

func (*suspendCmd) About() About { return acting(runs) }

func (c *suspendCmd) Run(ctx context.Context, a *app) error {
	return c.act(ctx, a, kindOfJobs{"suspend", "runs and is not suspended", job.CommandSuspend}, func(j api.Job) string {
		text := fmt.Sprintf("is suspended, and keeps its GPUs, until 'gpusched resume %s'", nameOfJob(j))
		if !j.SuspendedUntil.IsZero() {
			text += ", or " + a.out.Clock(j.SuspendedUntil) + " at the latest"
		}
		return text
	})
}

// resumeCmd undoes suspend.
type resumeCmd struct{ manyFlags }

func (*resumeCmd) About() About { return acting(func(j api.Job) bool { return j.Suspended() }) }

func (c *resumeCmd) Run(ctx context.Context, a *app) error {
	return c.act(ctx, a, kindOfJobs{"resume", "is suspended", job.CommandResume}, func(j api.Job) string {
		return "goes on" + a.limitLeft(j)
	})
}

// limitLeft is when a running job meets its time limit.
func (a *app) limitLeft(j api.Job) string {
	if j.TimeLimit == 0 || j.StartedAt.IsZero() || j.Suspended() {
		return ""
	}
	return ", until " + a.out.Clock(j.StartedAt.Add((j.TimeLimit + j.Rested).Duration())) + " at the latest"
}

// requeueCmd sends running jobs back to the queue.
type requeueCmd struct{ jobsFlags }

func (*requeueCmd) About() About { return acting(isOn) }

func (c *requeueCmd) Run(ctx context.Context, a *app) error {
	return c.act(ctx, a, api.ManyRequest{Command: job.CommandRequeue}, func(j api.Job) string {
		switch {
		case j.Array != nil:
			return "is an array: its tasks that ran are being stopped and go to the end of the queue"
		case j.State == job.Queued:
			return "is back in the queue" + waiting(a.out, j)
		}
		return "is being stopped and goes to the end of the queue"
	})
}

// queuePosition is where a job stands after something was done to it.
func (a *app) queuePosition(j api.Job) string {
	switch {
	case j.State == job.Running && j.TimeLimit == 0:
		return ": no time limit"
	case j.State == job.Running:
		return fmt.Sprintf(": its time limit is %s%s", j.TimeLimit, a.limitLeft(j))
	case j.State == job.Queued || waitsAgain(j):
		return waiting(a.out, j)
	case len(j.GPUs) > 0 && j.State == job.Starting:
		return ", starts on " + gpuNames(j.GPUs)
	}
	return ""
}
