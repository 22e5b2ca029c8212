package daemon

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/core/foresight"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units"
)

// Submit queues a job that the server has validated. It returns once the job is on disk.
func (d *Daemon) Submit(ctx context.Context, s job.Submission, dryRun bool) (job.Submitted, error) {
	accepted := d.host.Now()
	if dryRun {
		return d.try(ctx, s)
	}
	if err := d.commit.trouble(); err != nil {
		return job.Submitted{}, job.Refuse("unavailable/unwritable", err)
	}
	if s.Key != "" {
		id, known, err := d.opt.Store.ByKey(ctx, s.Owner.UID, s.Key)
		if err != nil {
			return job.Submitted{}, d.restartIfDamaged(err)
		}
		if known {
			out, err := d.answerRepeat(ctx, id)
			if err == nil && !out.Owner.Is(s.Owner.UID, s.Owner.User) {
				return job.Submitted{}, job.Refuse("conflict/key", id)
			}
			return out, err
		}
	}
	var err error
	if s.Ended, err = d.jobEnds(ctx, s.Request.After); err != nil {
		return job.Submitted{}, err
	}
	out, err := d.queue(ctx, &s)
	d.trace.mark(out.ID, stepAccepted, accepted)
	return out, err
}

// queue sends a submission to the core. The core may answer with the id of an older job that came
// from the same submission. If that job has been forgotten, queue submits again, as a new job.
func (d *Daemon) queue(ctx context.Context, s *job.Submission) (job.Submitted, error) {
	d.lister.awaitListing(ctx)
	for forgotten := job.ID(0); ; {
		r, err := d.request(ctx, func(t core.Token) core.Event {
			return core.Submit{Token: t, Submission: *s, Forgotten: forgotten}
		})
		if err != nil {
			return job.Submitted{}, err
		}
		if r.Job != nil {
			if !r.Known {
				d.opt.Tally.Submitted()
			}
			out := job.Submitted{JobView: *r.Job, Known: r.Known}
			if !s.Brief {
				out.JobView = d.withForecast(ctx, out.JobView)
			}
			return out, nil
		}
		out, err := d.answerRepeat(ctx, r.ID)
		if err == nil && !out.Owner.Is(s.Owner.UID, s.Owner.User) && r.ID != forgotten {
			forgotten = r.ID // the job belongs to an account that had this uid earlier
			continue
		}
		var refusal *job.Refusal
		if !errors.As(err, &refusal) || refusal.Kind() != job.RefusedNotFound || r.ID == forgotten {
			return out, err
		}
		forgotten = r.ID
	}
}

// If err says that the state file is damaged, restartIfDamaged stops the daemon, which is then
// restarted, and returns errStopped. Otherwise it returns err.
func (d *Daemon) restartIfDamaged(err error) error {
	if !errors.Is(err, job.ErrDamaged) {
		return err
	}
	d.end(err)
	return errStopped
}

// answerRepeat answers a repeated submission with the existing job. The answer does not say why the
// job waits, because the first answer did.
func (d *Daemon) answerRepeat(ctx context.Context, id job.ID) (job.Submitted, error) {
	v, err := d.jobByID(ctx, id)
	return job.Submitted{JobView: v, Known: true}, err
}

// jobEnds returns the results of jobs that a submission or a change depends on. It reads only the
// store. The core itself notices jobs that end later.
func (d *Daemon) jobEnds(ctx context.Context, after []job.Dependency) (map[job.ID]job.End, error) {
	if len(after) == 0 {
		return nil, nil
	}
	return d.opt.Store.Ends(ctx, job.Each(after, func(dep job.Dependency) job.ID { return dep.Job }))
}

func (d *Daemon) try(ctx context.Context, s job.Submission) (job.Submitted, error) {
	var err error
	if s.Ended, err = d.jobEnds(ctx, s.Request.After); err != nil {
		return job.Submitted{}, err
	}
	var v job.JobView
	var ahead *foresight.Foresight
	var refusal *job.Refusal
	err = d.inbox.ask(ctx, func(c *core.Core, now time.Time) { v, ahead, refusal = c.Try(s, now) })
	if err != nil {
		return job.Submitted{}, err
	}
	if refusal != nil {
		return job.Submitted{}, refusal
	}
	out := job.Submitted{JobView: d.ahead.forecast(ctx, ahead, v)}
	spec := d.exec.unitSpec(&v.Job, &s.Payload, d.settings.Load())
	for _, p := range units.Render(units.Properties(spec)) {
		out.Unit = append(out.Unit, job.Property{Name: p.Name, Value: p.Text})
	}
	return out, nil
}

// Do carries out a command.
func (d *Daemon) Do(ctx context.Context, who job.Actor, c job.Command) error {
	switch c.Kind {
	case job.CommandOpen:
		return d.open(ctx, who, c.Job)
	case job.CommandSignal: // the outcome lists the jobs that get the signal
		return d.doOne(ctx, who, c)
	}
	list := []job.Command{c}
	if err := d.lookUp(ctx, who, list); err != nil {
		return err
	}
	r, err := d.request(ctx, func(t core.Token) core.Event { return core.Command{Token: t, Who: who, What: list[0]} })
	if r.Refusal == nil || c.Job == 0 {
		return err
	}
	each := []job.Outcome{{Refusal: r.Refusal}}
	if err := d.explainEnded(ctx, who, list, each); err != nil {
		return err
	}
	return each[0].Refusal
}

// Query answers q. The answer includes every change that was acknowledged before the call.
func (d *Daemon) Query(ctx context.Context, q job.Query) (job.View, error) {
	var v job.View
	var ahead *foresight.Foresight
	if err := d.inbox.ask(ctx, func(c *core.Core, now time.Time) { v, ahead = c.ViewAndForesight(q, now) }); err != nil {
		return job.View{}, err
	}
	d.ahead.forecastAll(ctx, ahead, v.Jobs)
	v.StartedAt = d.started
	if err := d.commit.awaitDurable(ctx); err != nil {
		return job.View{}, err
	}
	if q.IDs != nil {
		return v, d.addStored(ctx, &v, q)
	}
	if q.Ended == 0 {
		return v, nil
	}
	ended, err := d.opt.Store.Ended(ctx, q)
	if err != nil {
		return job.View{}, err
	}
	live := map[job.ID]bool{}
	for _, j := range v.Jobs {
		live[j.ID] = true
	}
	for _, j := range ended {
		if !live[j.ID] {
			v.Jobs = append(v.Jobs, job.JobView{Job: j})
		}
	}
	return v, nil
}

// Names returns the names of live jobs, in the order of Query. The answer includes every change
// that was acknowledged before the call.
func (d *Daemon) Names(ctx context.Context, q job.Query) (names []job.Name, err error) {
	if err := d.inbox.ask(ctx, func(c *core.Core, now time.Time) { names = c.Names(q, now) }); err != nil {
		return nil, err
	}
	return names, d.commit.awaitDurable(ctx)
}

// addStored completes the answer to a query by ids with what only the store has: ended jobs and
// earlier attempts.
func (d *Daemon) addStored(ctx context.Context, v *job.View, q job.Query) error {
	live := map[job.ID]bool{} // a map, because a list of ids can be long
	for _, j := range v.Jobs {
		live[j.ID] = true
	}
	place := map[job.ID]int{}
	var ended []job.ID
	for i, id := range q.IDs {
		place[id] = i
		if !live[id] {
			ended = append(ended, id)
		}
	}
	if len(ended) > 0 {
		stored, err := d.opt.Store.Jobs(ctx, ended)
		if err != nil {
			return err
		}
		for _, j := range stored {
			if !q.Matches(&j) {
				continue
			}
			v.Jobs = append(v.Jobs, job.JobView{Job: j})
		}
	}
	slices.SortFunc(v.Jobs, func(a, b job.JobView) int { return place[a.ID] - place[b.ID] })
	if !q.Attempts {
		return nil
	}
	for i, j := range v.Jobs {
		attempts, err := d.opt.Store.Attempts(ctx, j.ID)
		if err != nil && !live[j.ID] {
			return err
		}
		if len(j.Request.Notify) > 0 {
			v.Jobs[i].Notified, _ = d.opt.Store.Notifications(ctx, j.ID)
		}
		v.Jobs[i].Attempts = attempts // nil after an error; health reports the error
	}
	return nil
}

// jobByID returns one job, live or ended. It does not say why the job waits, because that needs a
// forecast.
func (d *Daemon) jobByID(ctx context.Context, id job.ID) (job.JobView, error) {
	v, err := d.Query(ctx, job.Query{IDs: []job.ID{id}})
	if err != nil {
		return job.JobView{}, err
	}
	if len(v.Jobs) == 0 {
		return job.JobView{}, job.Refuse("not-found/job", id)
	}
	return v.Jobs[0], nil
}

// Wait blocks until the job has ended. For an array, it also returns if no more tasks will start
// (Job.AtRest).
func (d *Daemon) Wait(ctx context.Context, id job.ID) (job.JobView, error) {
	return d.await(ctx, id, (*job.Job).AtRest)
}

// await waits until a condition holds for the job, and returns the job.
func (d *Daemon) await(ctx context.Context, id job.ID, over func(*job.Job) bool) (job.JobView, error) {
	come, leave := d.waiters.join(id, d.host, over)
	defer leave()
	v, err := d.jobByID(ctx, id)
	if err != nil || over(&v.Job) {
		return v, err
	}
	switch {
	case come.await(ctx.Done(), d.inbox.done) && come.news.State.Terminal(): // an ended job does not change any more
		return job.JobView{Job: *come.news}, nil
	case come.open.Load():
		return d.jobByID(ctx, id)
	case ctx.Err() != nil:
		return v, ctx.Err()
	}
	return v, errStopped
}

// Task returns the id of the job that a task of an array became. The job may have ended.
// The id is 0 if the task has not started.
func (d *Daemon) Task(ctx context.Context, array job.ID, index int) (job.ID, error) {
	v, err := d.jobByID(ctx, array)
	if err != nil {
		return 0, err
	}
	if a := v.Request.Array; v.Task != nil || a == nil || !a.Has(index) {
		return 0, job.Refuse("not-found/task", job.Task{Array: array, Index: index}, array)
	}
	return d.opt.Store.Task(ctx, array, index)
}

// Results returns the results of the ended tasks of an array. They include every change that was
// acknowledged before the call.
func (d *Daemon) Results(ctx context.Context, array job.ID) (job.Results, error) {
	if err := d.commit.awaitDurable(ctx); err != nil {
		return job.Results{}, err
	}
	return d.opt.Store.Results(ctx, array)
}

// AwaitTask waits until a task of an array has become a job, and returns the job's id. It returns 0
// if the task can't start any more, or if its job is not on disk yet.
func (d *Daemon) AwaitTask(ctx context.Context, array job.ID, index int) (job.ID, error) {
	if id, err := d.Task(ctx, array, index); err != nil || id != 0 {
		return id, err
	}
	if _, err := d.await(ctx, array, func(j *job.Job) bool { return !j.MayStart(index) || j.AtRest() }); err != nil {
		return 0, err
	}
	return d.opt.Store.Task(ctx, array, index)
}

// Payload returns a job's private part.
func (d *Daemon) Payload(ctx context.Context, id job.ID) (job.Payload, error) {
	if err := d.commit.awaitDurable(ctx); err != nil {
		return job.Payload{}, err
	}
	return d.opt.Store.Payload(ctx, id)
}
