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

// undoTime is for how long a run goes on that was ended by a signal, to let jobs go.
const undoTime = time.Minute

// move holds all, submits each in order, and cancels here, the last one first: so none is
// told that what it waited for is gone. Of a run that is ended, what Slurm hasn't got waits
// here as before.
func (m *migration) move(ctx context.Context, list []*moving) error {
	undo, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(undoTime, end) })
	defer stop()
	held := m.each(ctx, undo, list, m.hold)
	m.leaveAll(undo, m.each(ctx, undo, m.together(undo, held), m.submit))
	return ctx.Err()
}

// each does something to each, and returns those with which that went well.
func (m *migration) each(
	ctx, undo context.Context, list []*moving, do func(context.Context, *moving) error,
) (done []*moving) {
	for _, mv := range list {
		err := ctx.Err()
		if err == nil {
			err = do(ctx, mv)
		}
		if err != nil {
			m.stay(undo, mv.job, err)
			continue
		}
		done = append(done, mv)
	}
	return done
}

// hold notes that a job is to be moved, then holds it, so that it does not start here.
func (m *migration) hold(ctx context.Context, mv *moving) error {
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
		return engines.Refuse(api.CodeConflict, "only what waits can be moved", "it is %s", reply.Job.State)
	}
	return nil
}

// submit has the job in Slurm once: as an earlier run submitted it, or now.
func (m *migration) submit(ctx context.Context, mv *moving) error {
	line := m.log.lines[mv.key]
	if line.Slurm == 0 && !line.At.IsZero() {
		id, err := m.find(ctx, line)
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

// find is for a job for which an earlier run has begun sbatch, and has not noted an answer. 0 is that
// there is none in Slurm.
func (m *migration) find(ctx context.Context, line moveLine) (job.ID, error) {
	at := line.At.Local().Format(time.DateTime)
	if line.Conf != m.conf {
		return 0, engines.Refuse(api.CodeConflict, "run it with that again", "an earlier run was cut off at %s that was for another cluster (SLURM_CONF=%s)",
			at, line.Conf)
	}
	id, sure, err := m.there.Moved(ctx, movedTag, line.Key, line.At)
	if err == nil && id == 0 && !sure {
		return 0, engines.Refuse(api.CodeConflict, "see 'gpusched list --on slurm' and 'sacct'",
			"an earlier run was cut off at %s, and whether it submitted this job Slurm does not know any more", at)
	}
	return id, err
}

// submitNew submits a job that Slurm hasn't got. An sbatch is noted before it begins.
func (m *migration) submitNew(ctx context.Context, mv *moving, line moveLine) error {
	req := mv.req
	req.Request.After = nil
	for _, d := range mv.job.After {
		to := m.movedTo(d.Job)
		if to == 0 {
			return engines.Refuse(api.CodeConflict, "run it again when that one is moved", "it waits for job %d, which stays", d.Job)
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

// stay says why a job is still here. The job waits as before. Where Slurm has it, or may have it, it is held, so
// that it does not run twice.
func (m *migration) stay(ctx context.Context, j api.Job, why error) {
	name := j.Called()
	line, known := m.log.lines[m.keyOf(&j)]
	ended := errors.Is(why, context.Canceled)
	if ended {
		why = engines.Refuse(api.CodeConflict, "", "the command was ended")
	}
	switch {
	case line.Slurm != 0 && j.State.Terminal():
		m.s.Printf("job %s is slurm:%d\n", name, line.Slurm)
		return
	case line.Slurm != 0:
		m.fail(why, "job %s is slurm:%d now, and is still here, held: %v. Then run the same command again", name, line.Slurm, why)
		return
	case !line.At.IsZero() && j.State == job.Queued:
		m.fail(why, "job %s is HELD here, as Slurm may have it: %v. Run the same command again, or, if it is not there, 'gpusched release %s'",
			name, why, name)
		return
	case known && !m.dryRun:
		if err := m.letGo(ctx, line); err != nil {
			m.fail(err, "job %s is HELD here: 'gpusched release %s' (%v)", name, name, err)
		}
	}
	if !ended {
		m.refuse(name, why)
	}
}

// letGo undoes what was done to a job here, and forgets it.
func (m *migration) letGo(ctx context.Context, line moveLine) error {
	if !line.Held {
		_, err := api.ActOnJob(ctx, m.s.Here, api.RouteRelease, line.Job.String(), nil)
		if e := (*api.Error)(nil); errors.As(err, &e) && (e.Code == api.CodeConflict || e.Code == api.CodeNotFound) {
			err = nil // it does not wait
		}
		if err != nil {
			return err
		}
	}
	line.Closed = true
	return m.log.note(line)
}

// leaveAll cancels here what Slurm has, the last one first. What is waited for by a job that stays, as
// Slurm has refused that one or it came in the meantime, is not cancelled: that would end it, or start it.
func (m *migration) leaveAll(ctx context.Context, done []*moving) {
	if len(done) == 0 {
		return
	}
	live, err := m.look(ctx)
	gone := map[job.ID]bool{}
	for _, mv := range slices.Backward(done) {
		problem := err
		if problem == nil {
			problem = live.awaited(mv.job.ID, gone, m.s.UID)
		}
		if problem == nil {
			problem = m.leave(ctx, mv)
		}
		if problem != nil {
			m.stay(ctx, mv.job, problem)
			continue
		}
		gone[mv.job.ID] = true
	}
}

// leave cancels a job here, with where it has gone in its comment.
func (m *migration) leave(ctx context.Context, mv *moving) error {
	id := mv.job.ID.String()
	comment := movedComment(m.log.lines[mv.key].Slurm, mv.job.Comment)
	if _, err := api.ActOnJob(ctx, m.s.Here, api.RouteUpdate, id, job.Change{Comment: &comment}); err != nil {
		m.s.Note("the comment of job %s does not say where it is: %v", mv.job.Called(), err)
	}
	// A job may have come that waits for it.
	_, err := api.ActOnJob(ctx, m.s.Here, api.RouteCancel, id, api.CancelRequest{Unawaited: true})
	return err
}

// movedComment says what a job has become before what its comment was, as much of that as a comment has
// room for.
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
