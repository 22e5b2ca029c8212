package daemon

import (
	"context"
	"fmt"
	"slices"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/words"
)

// tellStranger tells a user about the user's processes on GPUs of others' jobs. The journal has the
// same line. A user without a terminal is not told later.
func (x *executor) tellStranger(ctx context.Context, s *job.Strangers) core.StrangerTold {
	done := core.StrangerTold{UID: s.UID}
	text := words.Strangers(s, x.host.Now())
	gpus := job.Each(s.GPUs, func(g job.StrangerGPU) int { return g.Index })
	if x.opt.TellUser == nil {
		return done
	}
	log := x.log.With("uid", s.UID, "gpus", job.FormatGPUList(gpus), "job", s.GPUs[0].Job, "pid", s.Processes[0].PID)
	ctx, cancel := x.host.Timeout(ctx, deliverTime)
	defer cancel()
	if err := x.opt.TellUser(ctx, s.UID, text); err != nil {
		log.Warn("could not tell a user of processes on a job's GPU", "err", err, "text", text)
		return done
	}
	log.Info("told a user of processes on a job's GPU", "text", text)
	return done
}

// checkStrangers reports processes that belong to no job and use GPUs of jobs, once their users
// were told. Such processes are no fault of the scheduler.
func checkStrangers(v *job.View, account func(uid int) string) []job.Check {
	c := job.Check{
		Name: "strangers", Health: job.Limited,
		Next: "ask their users to queue the work ('gpusched gpus' lists the processes); gpus.strangers says what is done about them",
	}
	pids, named := []int{}, ""
	for i := range v.GPUs {
		g := &v.GPUs[i]
		for _, p := range g.Processes {
			if p.Job != 0 || p.ToldAt.IsZero() || len(g.Jobs) == 0 || slices.Contains(pids, p.PID) {
				continue
			}
			if pids = append(pids, p.PID); len(pids) == 1 {
				named = fmt.Sprintf("process %d of %s uses GPU %d, which job %s has; its user was told at %s",
					p.PID, account(p.UID), g.Index, g.Jobs[0], p.ToldAt.Local().Format("15:04:05"))
				if !p.EndsAt.IsZero() {
					named += fmt.Sprintf(" that it is ended at %s", p.EndsAt.Local().Format("15:04:05"))
				}
			}
		}
	}
	if len(pids) == 0 {
		return nil
	}
	c.Detail = named
	if more := len(pids) - 1; more > 0 {
		c.Detail += fmt.Sprintf("; %d more like it", more)
	}
	return []job.Check{c}
}
