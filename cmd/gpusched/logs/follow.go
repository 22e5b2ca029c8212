package logs

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

const (
	followPoll = time.Second     // time between two looks at several jobs
	followWait = 2 * time.Second // for a single job: how long the scheduler may delay its answer
	fewTasks   = 200             // how many ended tasks of an array each look asks for

	// followedAtOnce is the largest number of processes that read the journal at the same time. The
	// output of further jobs stays in the journal and is printed later.
	followedAtOnce = 16
)

// A follower prints the output of jobs as it comes.
type follower struct {
	*Printer
	named []api.Job
	slots chan struct{} // holds one value for each reader of the journal

	jobsMu   sync.Mutex // guards the fields below
	jobs     map[string]api.Job
	changed  chan struct{} // closed and replaced at each change of the stored jobs
	saidLate bool          // the user has been told that jobs wait for a slot
	failed   error         // the first error that occurred
}

// FollowJobs prints the output of the jobs until all of them have ended.
func (p *Printer) FollowJobs(ctx context.Context, named []api.Job) error {
	f := &follower{Printer: p, named: named, slots: make(chan struct{}, followedAtOnce),
		jobs: map[string]api.Job{}, changed: make(chan struct{})}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var all sync.WaitGroup
	first, ended := true, cli.MostEnded // how many ended tasks of an array to ask for; all in the first look
	for {
		list, live, err := f.listJobs(ctx, ended)
		if err != nil {
			stop()
			all.Wait()
			return err
		}
		for _, j := range f.publish(list) {
			if first && j.State.Terminal() { // jobs that had already ended are printed in order
				f.recordError(f.followJob(ctx, j), stop)
				continue
			}
			all.Go(func() { f.recordError(f.followJob(ctx, j), stop) })
		}
		first = false
		if ctx.Err() != nil || !live && ended == cli.MostEnded {
			break
		}
		if ended = fewTasks; !live {
			ended = cli.MostEnded // the last look asks for all tasks, too
			continue
		}
		f.pause(ctx)
	}
	all.Wait()
	f.jobsMu.Lock()
	defer f.jobsMu.Unlock()
	return cmp.Or(f.failed, ctx.Err())
}

// pause waits until it is time for the next look.
func (f *follower) pause(ctx context.Context) {
	if j := f.named[0]; len(f.named) == 1 && j.Array == nil {
		_, _ = api.Wait(ctx, f.Client, cli.NameOfJob(j), followWait) // the next look will report an error
		return
	}
	_ = api.Pause(ctx, followPoll)
}

// listJobs lists the jobs, with tasks in place of arrays. The second result says whether any job
// has not ended.
func (f *follower) listJobs(ctx context.Context, ended int) (list []api.Job, running bool, err error) {
	ids := cli.Joined(f.named, ",", cli.NameOfJob)
	reply, err := api.List(ctx, f.Client, api.ListQuery{IDs: ids, Reasons: api.WithReasons})
	for _, j := range reply.Jobs {
		running = running || !atRest(j)
		if j.Array == nil {
			list = append(list, j)
			continue
		}
		tasks, err := f.tasks(ctx, j, ended)
		if err != nil {
			return nil, true, f.unlessTransient(ctx, err)
		}
		list = append(list, tasks...)
	}
	if err != nil {
		return nil, true, f.unlessTransient(ctx, err)
	}
	return list, running, nil
}

// atRest reports whether a job will start nothing more unless a user acts on it.
func atRest(j api.Job) bool {
	return j.State.Terminal() || j.Array != nil && j.Array.TooManyFailed && j.Array.Live == 0
}

// unlessTransient returns nil for an error that may go away when the scheduler has restarted.
// Output can be read without the scheduler.
func (f *follower) unlessTransient(ctx context.Context, err error) error {
	var e *api.Error
	if ctx.Err() == nil && errors.As(err, &e) && (e.Code == api.CodeUnreachable || e.Code == api.CodeUnavailable) {
		_ = api.Pause(ctx, followPoll)
		return nil
	}
	return cmp.Or(ctx.Err(), err)
}

// publish stores the jobs' states and wakes the callers of await. It returns the jobs that are new.
func (f *follower) publish(list []api.Job) (fresh []api.Job) {
	f.jobsMu.Lock()
	defer f.jobsMu.Unlock()
	for _, j := range list {
		if _, known := f.jobs[cli.NameOfJob(j)]; !known {
			fresh = append(fresh, j)
		}
		f.jobs[cli.NameOfJob(j)] = j
	}
	close(f.changed)
	f.changed = make(chan struct{})
	return fresh
}

// await waits until its last argument returns true for the job. Then it returns the job.
func (f *follower) await(ctx context.Context, name string, ok func(api.Job) bool) (api.Job, error) {
	for {
		f.jobsMu.Lock()
		j, changed := f.jobs[name], f.changed
		f.jobsMu.Unlock()
		if ok(j) {
			return j, nil
		}
		select {
		case <-ctx.Done():
			return j, ctx.Err()
		case <-changed:
		}
	}
}

// recordError records an error. If several jobs are followed, it also prints the error, and the
// other jobs are still followed.
func (f *follower) recordError(err error, stop func()) {
	if err == nil || errors.Is(err, context.Canceled) {
		return
	}
	if !f.Many {
		stop()
	} else {
		f.mu.Lock()
		err = cli.ExitStatus(f.Finish(err))
		f.mu.Unlock()
	}
	f.jobsMu.Lock()
	defer f.jobsMu.Unlock()
	f.failed = cmp.Or(f.failed, err)
}

// followJob prints the output of a job until the job ends. It begins with the requested attempt, or
// else with the job's last attempt.
func (f *follower) followJob(ctx context.Context, j api.Job) error {
	if err := f.unreadable(ctx, j); err != nil {
		return err
	}
	name, live := cli.NameOfJob(j), !j.State.Terminal()
	some, done := false, 0
	for over := false; !over; over = f.allPrinted(j, done) {
		if err := f.awaitStart(ctx, name, done); err != nil {
			return err
		}
		printed, last, err := f.followFrom(ctx, name, done)
		if err != nil {
			return err
		}
		some, done = some || printed, last
		j = f.jobNow(name)
	}
	if live && f.Attempt <= 0 && !f.Attended {
		f.Say("job %s %s%s", name, f.ResultOf(j), f.unlessPrinted(ctx, j, some))
	}
	return nil
}

// followFrom prints the attempts after the one with the given number. It returns the number of the
// last printed attempt.
func (f *follower) followFrom(ctx context.Context, name string, shown int) (some bool, last int, err error) {
	if err := f.takeSlot(ctx); err != nil {
		return false, shown, err
	}
	defer func() { <-f.slots }()
	reply, err := api.Show(ctx, f.Client, name, api.JobQuery{})
	if err != nil {
		return false, shown, err
	}
	list, err := f.remaining(reply, shown)
	if err != nil {
		return false, shown, err
	}
	if last = shown; reply.Job.State.Terminal() { // the last attempt may have failed before it started
		last = max(shown, reply.Job.Attempt)
	}
	for _, at := range list {
		if shown > 0 && !f.Attended || f.Attempt == cli.EveryAttempt {
			f.printHeading(reply.Job, at)
		}
		printed, err := f.followOne(ctx, reply.Job, at)
		if err != nil {
			return false, shown, err
		}
		some, last = some || printed, max(last, at.Number)
	}
	return some, last, nil
}

// unlessPrinted returns an addition to the final line of a job that printed nothing. The addition
// explains why there is no output. For other jobs it is "".
func (f *follower) unlessPrinted(ctx context.Context, j api.Job, some bool) string {
	if some {
		return ""
	}
	if reply, err := api.Show(ctx, f.Client, cli.NameOfJob(j), api.JobQuery{}); err == nil {
		j = reply.Job // this answer has the path of the job's log
	}
	last := api.Attempt{Attempt: job.Attempt{Number: j.Attempt, PlacedAt: j.PlacedAt, EndedAt: j.EndedAt}}
	return ", and " + f.nothingPrinted(ctx, j, last, j.Manager == "")
}

func (f *follower) jobNow(name string) api.Job {
	f.jobsMu.Lock()
	defer f.jobsMu.Unlock()
	return f.jobs[name]
}

// allPrinted reports whether all attempts with higher numbers than the given one have been printed.
func (f *follower) allPrinted(j api.Job, printed int) bool {
	return f.Attempt > 0 && printed > 0 || j.State.Terminal() && printed >= j.Attempt
}

// remaining returns the attempts that must still be printed. The second argument is the number of
// the last attempt that was printed.
func (f *follower) remaining(reply api.JobReply, printed int) ([]api.Attempt, error) {
	if printed > 0 || f.Attended { // run and submit --wait show every attempt
		return slices.DeleteFunc(cli.Begun(reply), func(at api.Attempt) bool { return at.Number <= printed }), nil
	}
	return f.attempts(reply)
}

// awaitStart waits until an attempt has started that comes after the last printed one, or until the
// job has ended. The last argument is the number of the last printed attempt.
func (f *follower) awaitStart(ctx context.Context, name string, printed int) error {
	ready := func(j api.Job) bool {
		return j.State.Terminal() || j.InvocationID != "" && j.Attempt > printed
	}
	if j := f.jobNow(name); !ready(j) && printed == 0 {
		// If earlier attempts exist, don't wait: their output can be printed.
		if reply, err := api.Show(ctx, f.Client, name, api.JobQuery{}); err != nil || len(cli.Begun(reply)) > 0 {
			return err
		}
		if j.State == job.Queued && !f.Many && !f.Attended {
			f.Say("job %s is %s%s", name, j.State, f.Because(j))
		}
	}
	_, err := f.await(ctx, name, ready)
	return err
}

// takeSlot waits for a slot. The caller frees the slot by receiving from f.slots.
func (f *follower) takeSlot(ctx context.Context) error {
	select {
	case f.slots <- struct{}{}:
		return nil
	default:
		f.sayLate()
	}
	select {
	case f.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// followOne prints the output of one attempt until the attempt ends.
func (f *follower) followOne(ctx context.Context, j api.Job, at api.Attempt) (some bool, err error) {
	past := func(j api.Job) bool { return j.Attempt != at.Number || !j.State.Live() }
	if past(j) {
		return true, f.copyAttempt(ctx, j, at)
	}
	over := make(chan struct{})
	waiting, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		if _, err := f.await(waiting, cli.NameOfJob(j), past); err == nil {
			close(over)
		}
	}()
	if file := f.ownLog(ctx, j, at); file != nil {
		return f.followLog(ctx, j, at, file, over)
	}
	some, err = f.followAttempt(ctx, j, at, over)
	behind := errors.Is(err, ErrBehind)
	switch {
	case (err == nil || behind) && !some && LogServes(f.Printer.App, j): // the job's log was created late
		return f.copyLog(j, at)
	case behind:
		f.Say("%s", MaybeMore(j))
		return true, nil
	}
	return some, err
}

// sayLate tells the user, once, that not all jobs are followed at the same time.
func (f *follower) sayLate() {
	f.jobsMu.Lock()
	said := f.saidLate
	f.saidLate = true
	f.jobsMu.Unlock()
	if !said {
		f.Say("%d jobs are followed at a time; the output of the others follows as these end", followedAtOnce)
	}
}
