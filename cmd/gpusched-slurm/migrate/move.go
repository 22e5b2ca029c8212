package migrate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gpusched/gpusched/cmd/gpusched-slurm/onslurm"
	"github.com/gpusched/gpusched/cmd/gpusched/engines"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// undoTime is how long an interrupted run may continue to release jobs.
const undoTime = time.Minute

// moveAll first holds all jobs here, then submits them in order, and cancels them here. It cancels
// the last job first, so that a job is gone before the jobs that it depends on. If moveAll is
// interrupted, the jobs that are not in Slurm wait here as before.
func (m *migration) moveAll(ctx context.Context, list []*movedJob) error {
	undo, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(undoTime, end) })
	defer stop()
	held := m.forEach(ctx, undo, list, m.hold)
	m.cancelAllHere(undo, m.forEach(ctx, undo, m.dropTied(undo, held), m.submit))
	return ctx.Err()
}

// forEach calls a function for each job, and returns the jobs for which it succeeded.
func (m *migration) forEach(
	ctx, undo context.Context, list []*movedJob, do func(context.Context, *movedJob) error,
) (done []*movedJob) {
	for _, mv := range list {
		err := ctx.Err()
		if err == nil {
			err = do(ctx, mv)
		}
		if err != nil {
			m.reportUnmoved(undo, mv.job, err)
			continue
		}
		done = append(done, mv)
	}
	return done
}

// hold first records that a job will be moved. It then
// holds the job, so that the job does not start here.
func (m *migration) hold(ctx context.Context, mv *movedJob) error {
	line, known := m.log.lines[mv.key]
	if !known || line.Held != mv.held {
		line.Key, line.Job, line.Held = mv.key, mv.job.ID, mv.held
		if err := m.log.note(line); err != nil {
			return err
		}
	}
	reply, err := api.ActOnJob(ctx, m.s.Here, api.RouteHold, mv.job.ID.String(), nil)
	if err != nil {
		return err
	}
	if reply.Job.State != job.Queued || reply.Job.HeldBy == "" {
		return engines.Refuse(api.CodeConflict, "only waiting jobs can be moved", "it is %s", reply.Job.State)
	}
	return nil
}

// submit makes sure that Slurm has the job exactly once,
// even if an earlier run has already submitted it.
func (m *migration) submit(ctx context.Context, mv *movedJob) error {
	line := m.log.lines[mv.key]
	if line.Slurm == 0 && !line.At.IsZero() {
		id, err := m.findEarlier(ctx, line)
		if err != nil {
			return err
		}
		line.Slurm, line.At = id, time.Time{}
		if err := m.log.note(line); err != nil {
			return err
		}
	}
	if line.Slurm == 0 {
		if err := m.submitNew(ctx, mv, line); err != nil {
			return err
		}
	}
	m.s.Printf("job %s is slurm:%d\n", mv.job.Called(), m.log.lines[mv.key].Slurm)
	return nil
}

// findEarlier searches Slurm for the job of an sbatch whose
// answer was not recorded. It returns 0 if there is none.
func (m *migration) findEarlier(ctx context.Context, line moveLine) (job.ID, error) {
	at := line.At.Local().Format(time.DateTime)
	if line.Conf != m.conf {
		return 0, engines.Refuse(api.CodeConflict, "run this again with that SLURM_CONF", "an earlier run, cut off at %s, was for another cluster (SLURM_CONF=%s)",
			at, line.Conf)
	}
	id, sure, err := m.there.Moved(ctx, movedTag, line.Key, line.At)
	if err == nil && id == 0 && !sure {
		return 0, engines.Refuse(api.CodeConflict, "see 'gpusched list --on slurm' and 'sacct'",
			"an earlier run was cut off at %s, and Slurm no longer knows whether it submitted this job", at)
	}
	return id, err
}

// submitNew submits a job that is not in Slurm. It records the start of sbatch before sbatch
// starts.
func (m *migration) submitNew(ctx context.Context, mv *movedJob, line moveLine) error {
	req := mv.req
	req.Request.After = nil
	for _, d := range mv.job.After {
		to := m.movedTo(d.Job)
		if to == 0 {
			return engines.Refuse(api.CodeConflict, "run this command again when that job has moved", "it waits for job %d, which stays", d.Job)
		}
		req.Request.After = append(req.Request.After, job.Dependency{Kind: d.Kind, Job: to})
	}
	begins := func() error {
		line.At, line.Conf = time.Now(), m.conf
		return m.log.note(line)
	}
	reply, err := m.there.SubmitNoted(ctx, req, begins)
	switch {
	case onslurm.Refused(err):
		line.At = time.Time{}
		return errors.Join(err, m.log.note(line))
	case err != nil:
		return err
	}
	line.Slurm = reply.Job.ID
	if err := m.log.note(line); err != nil {
		return fmt.Errorf("it is slurm:%d now: %w", reply.Job.ID, err)
	}
	return nil
}

// reportUnmoved reports why a job is still here. It returns the job to the queue. If Slurm has the
// job or may have it, the job is kept held instead, so that it does not run twice.
func (m *migration) reportUnmoved(ctx context.Context, j api.Job, reason error) {
	name := j.Called()
	line, known := m.log.lines[m.keyOf(&j)]
	ended := errors.Is(reason, context.Canceled)
	if ended {
		reason = engines.Refuse(api.CodeConflict, "", "the command was interrupted")
	}
	switch {
	case line.Slurm != 0 && j.State.Terminal():
		m.s.Printf("job %s is slurm:%d\n", name, line.Slurm)
		return
	case line.Slurm != 0:
		m.fail(reason, "job %s is slurm:%d now, and is still here, held: %v. Then run the same command again", name, line.Slurm, reason)
		return
	case !line.At.IsZero() && j.State == job.Queued:
		m.fail(reason, "job %s is HELD here, as Slurm may have it: %v. Run the same command again; if Slurm does not have the job, use 'gpusched release %s'",
			name, reason, name)
		return
	case known && !m.dryRun:
		if err := m.rollback(ctx, line); err != nil {
			m.fail(err, "job %s is HELD here: 'gpusched release %s' (%v)", name, name, err)
		}
	}
	if !ended {
		m.refuse(name, reason)
	}
}

// rollback releases a job here and drops its record.
func (m *migration) rollback(ctx context.Context, line moveLine) error {
	if !line.Held {
		_, err := api.ActOnJob(ctx, m.s.Here, api.RouteRelease, line.Job.String(), nil)
		if e := (*api.Error)(nil); errors.As(err, &e) && (e.Code == api.CodeConflict || e.Code == api.CodeNotFound) {
			err = nil // the job no longer waits
		}
		if err != nil {
			return err
		}
	}
	line.Closed = true
	return m.log.note(line)
}

// cancelAllHere cancels, on this machine, the jobs that Slurm has, the last job first. It keeps a
// job if another job on this machine still waits for it: the cancellation would end or start the
// other job. Slurm refused the other job, or the other job is new.
func (m *migration) cancelAllHere(ctx context.Context, done []*movedJob) {
	if len(done) == 0 {
		return
	}
	live, err := m.listLive(ctx)
	gone := map[job.ID]bool{}
	for _, mv := range slices.Backward(done) {
		problem := err
		if problem == nil {
			problem = live.checkWaiters(mv.job.ID, gone, m.s.UID)
		}
		if problem == nil {
			problem = m.cancelHere(ctx, mv)
		}
		if problem != nil {
			m.reportUnmoved(ctx, mv.job, problem)
			continue
		}
		gone[mv.job.ID] = true
	}
}

// cancelHere cancels a job here. The job's comment then says where the job is now.
func (m *migration) cancelHere(ctx context.Context, mv *movedJob) error {
	id := mv.job.ID.String()
	comment := movedComment(m.log.lines[mv.key].Slurm, mv.job.Comment)
	if _, err := api.ActOnJob(ctx, m.s.Here, api.RouteUpdate, id, job.Change{Comment: &comment}); err != nil {
		m.s.Note("the comment of job %s does not say where it went: %v", mv.job.Called(), err)
	}
	// With Unawaited, the scheduler refuses to cancel a job for which another job waits. Such a job
	// may have been queued meanwhile.
	_, err := api.ActOnJob(ctx, m.s.Here, api.RouteCancel, id, api.CancelRequest{Unawaited: true})
	return err
}

// movedComment puts the job's new id in front of its
// comment. It cuts a comment that becomes too long.
func movedComment(to job.ID, was string) string {
	comment := fmt.Sprintf("moved to slurm:%d", to)
	if was == "" || was == comment || strings.HasPrefix(was, comment+"; ") {
		return cmp.Or(was, comment)
	}
	comment += "; " + was
	if len(comment) <= job.MaxCommentBytes {
		return comment
	}
	end := job.MaxCommentBytes
	for !utf8.RuneStart(comment[end]) {
		end--
	}
	return comment[:end]
}
