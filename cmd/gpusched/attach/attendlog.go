package attach

import (
	"bufio"
	"context"
	"slices"
	"strconv"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/logs"
	"github.com/gpusched/gpusched/daemon/api"
)

// readLog prints the output of all attempts from the job's log. It returns when the job has ended.
func (at *attendance) readLog(ctx context.Context, journalctl string) error {
	a, out, said := *at.a, *at.a.Out, *at.a.Err
	out.W, said.W = bufio.NewWriter(at.pipe), bufio.NewWriter(at.line.clearingWriter(at.a.Err.W))
	a.Out, a.Err = &out, &said
	p := &logs.Printer{Cmd: &logs.Cmd{}, App: &a, Path: journalctl, Attended: true}
	return p.FollowJobs(ctx, []api.Job{at.job})
}

// ownStarts selects the journal entries of this job's attempts. The journal may also contain
// entries of an earlier job with the same number. Job numbers start again if the state file was set
// aside or the package was purged.
type ownStarts struct {
	jobs  api.Engine
	job   api.Job
	known map[string]bool // by time and invocation id: whether the attempt belongs to the job
}

// isOurs reports whether an entry belongs to the job. It asks the scheduler only about an attempt
// that seems to be older than the job. An attempt can seem older if the clock was set back after
// the submission.
func (s *ownStarts) isOurs(ctx context.Context, e logs.Entry) bool {
	placed, err := strconv.ParseInt(e.Placed, 10, 64)
	if err != nil || placed >= s.job.SubmittedAt.UnixMicro() || s.job.Manager == api.UserManager {
		return true
	}
	name := e.Placed + " " + e.Invocation
	if ours, known := s.known[name]; known {
		return ours
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), logs.SettleMax) // the job may end meanwhile
	defer stop()
	reply, err := api.Show(ctx, s.jobs, s.job.ID.String(), api.JobQuery{})
	s.known[name] = err == nil && slices.ContainsFunc(cli.EveryPlaced(reply),
		func(at api.Attempt) bool { return e.IsOf(at) })
	return s.known[name]
}
