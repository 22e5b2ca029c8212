package daemon

import (
	"context"
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/core/foresight"
	"github.com/gpusched/gpusched/daemon/job"
)

// pieceLen is how many commands the loop takes in one step, and so the disk in one transaction: it
// answers others before the next ones.
const pieceLen = 1000

// DoMany carries out commands about jobs, in their order. Told is given the outcomes of so many at a time
// as they are on disk; an error of it ends it all. After an error what was told is done, of the pieces under
// way it is not known, and nothing else is done: begun is how many of the first are either.
func (d *Daemon) DoMany(
	ctx context.Context, who job.Actor, list []job.Command, told func([]job.Outcome) error,
) (begun int, err error) {
	if err := d.lookUp(ctx, who, list); err != nil {
		return 0, err
	}
	all, few := len(list), len(list) <= pieceLen
	ahead := 2 // while the disk has one, the loop makes the next
	if slices.ContainsFunc(list, func(c job.Command) bool { return c.Dear() }) {
		ahead = 1 // one that is cut short goes on before the next
	}
	var under []piece // handed to the loop, the first first
	defer func() {
		for _, s := range under {
			d.replies.forget(s.token)
		}
	}()
	for len(list) > 0 || len(under) > 0 {
		if len(list) > 0 && len(under) < ahead {
			n := min(len(list), pieceLen)
			under = append(under, d.begin(who, list[:n]))
			list = list[n:]
			continue
		}
		s := under[0]
		outcomes, err := d.finishPiece(ctx, s, who, few)
		under = under[1:]
		if err == nil {
			err = told(outcomes)
		}
		if err != nil {
			return all - len(list), err
		}
		if n := len(outcomes); n < len(s.list) { // the rest was too much for a step, and list is what follows it
			list = s.list[n : len(s.list)+len(list)]
		}
	}
	return all, nil
}

// lookUp asks others what the commands rest on, which are of one kind: how the jobs ended that a changed
// job waits for, and whose the accounts are of jobs that are released.
func (d *Daemon) lookUp(ctx context.Context, who job.Actor, list []job.Command) error {
	if len(list) == 0 {
		return nil
	}
	if c := list[0].Change; c != nil && c.After != nil {
		ended, err := d.ends(ctx, *c.After)
		if err != nil {
			return err
		}
		for i := range list {
			list[i].Ended = ended
		}
	}
	if !who.Admin || list[0].Kind != job.CommandRelease {
		return nil
	}
	ids := make([]job.ID, len(list))
	for i := range list {
		ids[i] = list[i].Job
	}
	return d.FindRenamed(ctx, job.Query{IDs: ids})
}

// doOne is DoMany for one command.
func (d *Daemon) doOne(ctx context.Context, who job.Actor, c job.Command) error {
	_, err := d.DoMany(ctx, who, []job.Command{c}, func(each []job.Outcome) error {
		if refusal := each[0].Refusal; refusal != nil {
			return refusal
		}
		return nil
	})
	return err
}

// piece is commands that the loop has been given in one.
type piece struct {
	token  core.Token
	answer *pendingReply
	list   []job.Command
}

func (d *Daemon) begin(who job.Actor, list []job.Command) piece {
	token, answer := d.replies.expect(d.host)
	d.inbox.post(core.Commands{Token: token, Who: who, List: list})
	return piece{token, answer, list}
}

// finishPiece returns the outcomes of a piece once they are on disk. Of few jobs those that wait are told
// when they are expected to start.
func (d *Daemon) finishPiece(ctx context.Context, s piece, who job.Actor, few bool) ([]job.Outcome, error) {
	r, err := d.answered(ctx, s.answer)
	if err != nil {
		return nil, err
	}
	d.exec.signalEach(ctx, who, s.list, r.Each)
	if err := d.explainEnded(ctx, who, s.list, r.Each); err != nil || !few {
		return r.Each, err
	}
	var waiting []*job.JobView
	for _, o := range r.Each {
		if o.Job != nil && o.Job.State == job.Queued {
			waiting = append(waiting, o.Job)
		}
	}
	var ahead *foresight.Foresight
	if len(waiting) == 0 || d.inbox.ask(ctx, func(c *core.Core, now time.Time) { ahead = c.Foresee(now) }) != nil {
		return r.Each, nil
	}
	views := make([]job.JobView, len(waiting))
	for i, v := range waiting {
		views[i] = *v
	}
	d.ahead.foretellAll(ctx, ahead, views)
	for i, v := range waiting {
		*v = views[i]
	}
	return r.Each, nil
}

// explainEnded gives those who are told that a job is not live the reason: it has ended, or there is none.
func (d *Daemon) explainEnded(ctx context.Context, who job.Actor, list []job.Command, each []job.Outcome) error {
	var gone []job.ID
	for i, o := range each {
		if o.Refusal != nil && o.Refusal.Kind() == job.RefusedNotFound {
			gone = append(gone, list[i].Job)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	stored, err := d.opt.Store.Jobs(ctx, gone)
	if err != nil {
		return err
	}
	known := make(map[job.ID]*job.Job, len(stored))
	for i := range stored {
		known[stored[i].ID] = &stored[i]
	}
	for i, o := range each {
		if o.Refusal == nil || o.Refusal.Kind() != job.RefusedNotFound {
			continue
		}
		switch j := known[list[i].Job]; {
		case j == nil:
			each[i].Refusal = job.Refuse("not-found/job", list[i].Job)
		case !j.State.Terminal(): // it is something of the job that is not there
		case !who.MayControl(j):
			each[i].Refusal = job.Refuse("forbidden/owner", j.Called(), j.Owner.User)
		default:
			each[i].Refusal = job.Refuse("conflict/ended", j.Called(), j.State)
		}
	}
	return nil
}
