package act

import (
	"context"
	"fmt"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// HoldCmd keeps waiting jobs from starting.
type HoldCmd struct{ manyFlags }

func (*HoldCmd) About() cli.About { return cli.Acting(isWaiting) }

func (c *HoldCmd) Run(ctx context.Context, a *cli.App) error {
	return c.actOnChosen(ctx, a, action{"hold", "waits and is not held", job.CommandHold}, func(j api.Job) string {
		return fmt.Sprintf("is held until 'gpusched release %s'%s", cli.NameOfJob(j), othersRun(j))
	})
}

type ReleaseCmd struct{ manyFlags }

func (*ReleaseCmd) About() cli.About { return cli.Acting(func(j api.Job) bool { return j.Held() }) }

func (c *ReleaseCmd) Run(ctx context.Context, a *cli.App) error {
	return c.actOnChosen(ctx, a, action{"release", "is held", job.CommandRelease}, func(j api.Job) string {
		if j.HeldBy != "" || cli.WaitsAgain(j) && j.Array.Held == j.Array.Waiting {
			return fmt.Sprintf("is still held: it belongs to %s now, and whoever held it has to release it once more", j.User)
		}
		return "released" + QueuePosition(a, j)
	})
}

// othersRun names the running tasks of an array. A command for waiting tasks does not affect them.
func othersRun(j api.Job) string {
	if j.Array == nil || j.Array.RunningTasks == "" {
		return ""
	}
	if j.Array.Live-j.Array.Waiting == 1 {
		return fmt.Sprintf("; task %s runs on", cli.NameOfJob(j)+"_"+j.Array.RunningTasks)
	}
	return fmt.Sprintf("; tasks %s_[%s] run on", cli.NameOfJob(j), j.Array.RunningTasks)
}

// SuspendCmd freezes running jobs.
type SuspendCmd struct{ manyFlags }

func (*SuspendCmd) About() cli.About { return cli.Acting(runs) }

func (c *SuspendCmd) Run(ctx context.Context, a *cli.App) error {
	return c.actOnChosen(ctx, a, action{"suspend", "runs and is not suspended", job.CommandSuspend}, func(j api.Job) string {
		text := fmt.Sprintf("is suspended, and keeps its GPUs, until 'gpusched resume %s'", cli.NameOfJob(j))
		if !j.SuspendedUntil.IsZero() {
			text += ", or " + a.Out.Clock(j.SuspendedUntil) + " at the latest"
		}
		return text
	})
}

type ResumeCmd struct{ manyFlags }

func (*ResumeCmd) About() cli.About { return cli.Acting(func(j api.Job) bool { return j.Suspended() }) }

func (c *ResumeCmd) Run(ctx context.Context, a *cli.App) error {
	return c.actOnChosen(ctx, a, action{"resume", "is suspended", job.CommandResume}, func(j api.Job) string {
		return "goes on" + limitLeft(a, j)
	})
}

// parking is the About of the commands for parking.
func parking(fits func(api.Job) bool) cli.About {
	about := cli.Acting(fits)
	about.Slurm = cli.NotForSlurm("Slurm can't park jobs", "'gpusched requeue' gives a job's GPUs back and starts it again later")
	return about
}

// ParkCmd moves the GPU memory of running jobs to the host's memory, and frees their GPUs.
type ParkCmd struct{ manyFlags }

func (*ParkCmd) About() cli.About { return parking(runs) }

func (c *ParkCmd) Run(ctx context.Context, a *cli.App) error {
	return c.actOnChosen(ctx, a, action{"park", "runs and can be parked", job.CommandPark}, func(j api.Job) string {
		return fmt.Sprintf("is being parked: it has no GPUs until 'gpusched unpark %s'", cli.NameOfJob(j))
	})
}

type UnparkCmd struct{ manyFlags }

func (*UnparkCmd) About() cli.About { return parking(func(j api.Job) bool { return j.Parked != nil }) }

func (c *UnparkCmd) Run(ctx context.Context, a *cli.App) error {
	return c.actOnChosen(ctx, a, action{"unpark", "is parked", job.CommandUnpark}, func(j api.Job) string {
		if j.Parked == nil {
			return "goes on" + limitLeft(a, j)
		}
		return "goes on when it has " + cli.GPUNames(j.Parked.GPUs) + " again" + cli.Colon(j.Because(a.Out.Reader()))
	})
}

// limitLeft says when a running job reaches its time limit.
func limitLeft(a *cli.App, j api.Job) string {
	if j.TimeLimit == 0 || j.StartedAt.IsZero() || j.Suspended() {
		return ""
	}
	return ", until " + a.Out.Clock(j.StartedAt.Add((j.TimeLimit + j.SuspendedTime).Duration())) + " at the latest"
}

// RequeueCmd stops running jobs and queues them again.
type RequeueCmd struct{ jobsFlags }

func (*RequeueCmd) About() cli.About { return cli.Acting(cli.IsOn) }

func (c *RequeueCmd) Run(ctx context.Context, a *cli.App) error {
	return c.actOnJobs(ctx, a, api.ManyRequest{Command: job.CommandRequeue}, func(j api.Job) string {
		switch {
		case j.Array != nil:
			return "is an array: its tasks that ran are being stopped and go to the end of the queue"
		case j.State == job.Queued:
			return "is back in the queue" + cli.Waiting(a.Out, j)
		}
		return "is being stopped and goes to the end of the queue"
	})
}

// QueuePosition says where a job is in the queue after a command.
func QueuePosition(a *cli.App, j api.Job) string {
	switch {
	case j.State == job.Running && j.TimeLimit == 0:
		return ": no time limit"
	case j.State == job.Running:
		return fmt.Sprintf(": its time limit is %s%s", j.TimeLimit, limitLeft(a, j))
	case j.State == job.Queued || cli.WaitsAgain(j):
		return cli.Waiting(a.Out, j)
	case len(j.GPUs) > 0 && j.State == job.Starting:
		return ", starts on " + cli.GPUNames(j.GPUs)
	}
	return ""
}
