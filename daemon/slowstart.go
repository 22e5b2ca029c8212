package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"

	"github.com/gpusched/gpusched/cgroup"
	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units"
)

// helpSlowStart finds out why a start takes long. If a process of the user has stopped the new
// process, helpSlowStart continues it. Users can stop the new process between the setuid in
// systemd's child and the exec of the launcher.
func (x *executor) helpSlowStart(ctx context.Context, j *job.Job, again bool) {
	name, why := units.Name(int64(j.ID)), ""
	stopped := func(p cgroup.Process) bool { return p.State == 'T' }
	if x.opt.Inside != nil && slices.ContainsFunc(x.opt.Inside(controlGroup(x.opt.Scope, j)), stopped) {
		why = "a process of " + j.Owner.User + " stopped the process that was to execute the job's launcher"
		x.inbox.post(core.StartSlow{Job: j.ID, Attempt: j.Attempt.Number, Why: why})
	}
	if !again {
		x.log.Warn("a start takes long, so others go first", "job", j.ID, "unit", name, "uid", j.Owner.UID, "user", j.Owner.User, "why", why)
	}
	ctx, cancel := x.host.Timeout(ctx, statusTime)
	defer cancel()
	err := x.opt.Units.Kill(ctx, name, int(syscall.SIGCONT), units.All)
	if err != nil && !errors.Is(err, units.ErrAbsent) {
		x.log.Warn("continuing a start that takes long", "job", j.ID, "unit", name, "err", err)
	}
}

// checkSlowStart reports the unfinished start that has taken longest so far.
func checkSlowStart(s *core.SlowStart, now time.Time) job.Check {
	who, name := s.Job.Owner.User, units.Name(int64(s.Job.ID))
	c := job.Check{
		Name: "starts", Health: job.Degraded,
		Detail: fmt.Sprintf("job %d of %s has been starting for %s", s.Job.ID, who, job.FormatDuration(now.Sub(s.Since).Truncate(time.Second))),
		Next:   fmt.Sprintf("see 'systemctl status %s', and whether a directory names the groups of %s ('id %s')", name, who, who),
	}
	if s.Why != "" {
		c.Detail, c.Next = c.Detail+": "+s.Why, "talk to "+who
	}
	c.Detail += "; it holds up no other user's jobs"
	return c
}
