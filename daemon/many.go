package daemon

import (
	"context"
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/core/foresight"
	"github.com/gpusched/gpusched/daemon/job"
)

// pieceLen limits the commands that one step of the loop carries out, in one transaction. Between
// two steps, the loop answers other clients.
const pieceLen = 1000

// DoMany carries out commands about jobs, in their order. It passes the outcomes in pieces to the
// function report, each piece once it is on disk, and stops if that function returns an error. The
// result count is the number of commands that were begun. After an error, each piece whose outcomes
// were passed on is done, and the other commands that were begun may be done.
func (d *Daemon) DoMany(
	ctx context.Context, who job.Actor, list []job.Command, report func([]job.Outcome) error,
) (count int, err error) {
	if err := d.lookUp(ctx, who, list); err != nil {
		return 0, err
	}
	all, few := len(list), len(list) <= pieceLen
	ahead := 2 // while the disk writes one piece, the loop handles the next
	if slices.ContainsFunc(list, func(c job.Command) bool { return c.IsExpensive() }) {
		ahead = 1 // if a piece is cut short, its rest comes before the next piece
	}
	var under []piece // sent to the loop, oldest first
	defer func() {
		for _, s := range under {
			d.replies.drop(s.token)
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
			err = report(outcomes)
		}
		if err != nil {
			return all - len(list), err
		}
		if n := len(outcomes); n < len(s.list) { // some commands are left, and the slice list follows them in memory
			list = s.list[n : len(s.list)+len(list)]
		}
	}
	return all, nil
}

// lookUp adds to commands what the core can't know: the results of ended jobs, if a command makes a
// job depend on them, and the memory that a job uses, if a command changes its limit. Before a
// release it also checks the accounts of the jobs. All commands are of one kind.
func (d *Daemon) lookUp(ctx context.Context, who job.Actor, list []job.Command) error {
	if len(list) == 0 {
		return nil
	}
	if c := list[0].Change; c != nil && c.After != nil {
		ended, err := d.jobEnds(ctx, *c.After)
		if err != nil {
			return err
		}
		for i := range list {
			list[i].Ended = ended
		}
	}
	if c := list[0].Change; c != nil && c.MemBytes != nil {
		if err := d.readMemUsed(ctx, list); err != nil {
			return err
		}
	}
	if list[0].Kind == job.CommandPark { // all processes that use the GPUs now are to be parked
		d.sampler.lookNow(ctx)
	}
	if !who.Admin || list[0].Kind != job.CommandRelease {
		return nil
	}
	return d.FindRenamed(ctx, job.Query{IDs: job.Each(list, func(c job.Command) job.ID { return c.Job })})
}

// readMemUsed adds to commands the host memory that the running jobs use.
func (d *Daemon) readMemUsed(ctx context.Context, list []job.Command) error {
	groups := map[job.ID]string{}
	err := d.inbox.ask(ctx, func(c *core.Core, _ time.Time) {
		for _, j := range c.Active() {
			groups[j.ID] = controlGroup(d.opt.Scope, &j)
		}
	})
	for i := range list {
		if group := groups[list[i].Job]; group != "" && d.opt.MemUsed != nil {
			list[i].MemUsed = d.opt.MemUsed(group)
		}
	}
	return err
}

// doOne carries out one command with DoMany.
func (d *Daemon) doOne(ctx context.Context, who job.Actor, c job.Command) error {
	_, err := d.DoMany(ctx, who, []job.Command{c}, func(each []job.Outcome) error {
		if refusal := each[0].Refusal; refusal != nil {
			return refusal
		}
		return nil
	})
	return err
}

// piece is a list of commands that the loop carries out together.
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

// finishPiece waits until a piece is on disk, and returns its outcomes. If addStarts is true, it
// adds the expected starts of waiting jobs.
func (d *Daemon) finishPiece(ctx context.Context, s piece, who job.Actor, addStarts bool) ([]job.Outcome, error) {
	r, err := d.awaitReply(ctx, s.answer)
	if err != nil {
		return nil, err
	}
	d.exec.signalEach(ctx, who, s.list, r.Each)
	if err := d.explainEnded(ctx, who, s.list, r.Each); err != nil || !addStarts {
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
	views := job.Each(waiting, func(v *job.JobView) job.JobView { return *v })
	d.ahead.forecastAll(ctx, ahead, views)
	for i, v := range waiting {
		*v = views[i]
	}
	return r.Each, nil
}

// explainEnded gives better reasons for refusals about jobs that the core does not know: such a job
// has ended, belongs to somebody else, or never existed.
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
		case !j.State.Terminal(): // the job exists, but a part of it does not
		case !who.MayControl(j):
			each[i].Refusal = job.Refuse("forbidden/owner", j.Called(), j.Owner.User)
		default:
			each[i].Refusal = job.Refuse("conflict/ended", j.Called(), j.State)
		}
	}
	return nil
}
