package daemon

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/retry"
)

// Delays between tries to write while the disk fails, and the time limit of one try.
const (
	firstCommitRetry = 100 * time.Millisecond
	lastCommitRetry  = 5 * time.Second
	commitTime       = 30 * time.Second
)

// committer writes records to disk, and then releases the actions and replies that depend on them.
// Steps that arrive during a write share the next transaction.
type committer struct {
	d      *Daemon
	wake   Wakeup
	owed   owedNumber // only the committer's goroutine uses this field and the next
	broken brokenGPUs

	mu      sync.Mutex // guards the fields below
	pending []batch
	failure error     // error of the last write; nil after a success
	begun   time.Time // start of the present write; zero: none
}

// owedNumber has the number of the newest event whose number must still be written to disk. Events
// without records of their own are announced only after their numbers are written.
type owedNumber struct {
	last     int64 // 0: no event waits
	failures int   // failed tries to write the number
	next     time.Time
}

// isDue reports whether the number should be written now.
func (o *owedNumber) isDue(now time.Time) bool { return o.last > 0 && !now.Before(o.next) }

// batch has the effects of one step of the core. A batch may instead be a barrier. It then has only
// a latch, which opens when all earlier batches are done.
type batch struct {
	effects core.Effects
	at      time.Time // time of the step
	looked  bool      // the step got the GPU sample that the core waits for
	barrier *latch
}

func (c *committer) push(e core.Effects, at time.Time, looked bool) {
	if looked || len(e.Records)+len(e.Actions)+len(e.Replies)+len(e.News) > 0 {
		c.add(batch{effects: e, at: at, looked: looked})
	}
}

func (c *committer) add(b batch) {
	c.mu.Lock()
	c.pending = append(c.pending, b)
	c.mu.Unlock()
	c.wake.Ring()
}

// awaitDurable waits until all records pushed so far are on disk and their actions have begun. If
// the disk fails, it returns early, since the failure may last.
func (c *committer) awaitDurable(ctx context.Context) error {
	if c.trouble() != nil {
		return nil
	}
	b := batch{barrier: newLatch(c.d.host)}
	c.add(b)
	for !b.barrier.open.Load() {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case closed(c.d.inbox.done):
			return errStopped
		case c.trouble() != nil:
			return nil
		}
		b.barrier.bell.Wait(c.d.host.Now().Add(time.Second), ctx.Done(), c.d.inbox.done)
	}
	return nil
}

// SlowAfter is the time after which a write counts as hanging. A write can't be cancelled.
const SlowAfter = 5 * time.Second

// trouble returns the error of the last write, an error if the present write hangs, or nil.
func (c *committer) trouble() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failure == nil && !c.begun.IsZero() && c.d.host.Now().Sub(c.begun) > SlowAfter {
		return fmt.Errorf("the disk has not answered since %s", c.begun.Format("15:04:05"))
	}
	return c.failure
}

func (c *committer) take() []batch {
	c.mu.Lock()
	defer c.mu.Unlock()
	b := c.pending
	c.pending = nil
	return b
}

// run writes until the loop has ended, and then writes the remaining batches of the loop. If a
// record can't be written, run returns. It does not write later records, because they may depend on
// the missing record.
func (c *committer) run(ctx context.Context) {
	for over := false; !over; {
		over = closed(c.d.inbox.done)
		switch batches := c.take(); {
		case len(batches) > 0:
			over = !c.finish(ctx, c.gather(batches)) || over
		case c.owed.isDue(c.d.host.Now()):
			c.tryNumber(ctx)
		case !over:
			c.wake.Wait(c.owed.next, c.d.inbox.done)
		}
	}
}

// How long records may wait until other records join their transaction. Records never wait if an
// action or a reply depends on them.
const (
	// gatherTime is the delay of records after a job has ended. Soon afterwards the GPU is sampled,
	// and the next job starts on it. Thanks to the delay, that start needs only one transaction
	// instead of two.
	gatherTime = 2 * time.Millisecond
	// restTime is the delay of a record that probably nobody waits for. An example is the record of
	// a job's change to running: the job's unit shows the same.
	restTime = 10 * time.Millisecond
)

// gather adds to the batches all other batches that arrive while the first ones may still wait.
func (c *committer) gather(batches []batch) []batch {
	now := c.d.host.Now()
	until := now.Add(restTime)
	for seen := 0; ; now = c.d.host.Now() {
		for _, b := range batches[seen:] {
			if last := now.Add(b.patience()); last.Before(until) {
				until = last
			}
		}
		if seen = len(batches); closed(c.d.inbox.done) || !now.Before(until) {
			return batches
		}
		c.wake.Wait(until, c.d.inbox.done)
		batches = append(batches, c.take()...)
	}
}

// patience returns how long the records of a batch may wait. The answer is 0 if an action, a reply
// or a barrier depends on them. It is also 0 after a GPU sample, because no further record follows.
func (b batch) patience() time.Duration {
	patience := restTime
	for _, a := range b.effects.Actions {
		switch a.(type) {
		case core.Sample, core.Forget, core.Collect: // the sample has already begun, and nobody waits for the other two
			patience = gatherTime
		default:
			return 0
		}
	}
	if b.barrier != nil || b.looked || len(b.effects.Replies) > 0 {
		return 0
	}
	return patience
}

// finish writes the records of batches and releases the effects.
// It returns false if ctx ended before the records were on disk.
func (c *committer) finish(ctx context.Context, batches []batch) bool {
	records := gather(batches)
	last, news := c.d.events.take(batches)
	if len(records) > 0 {
		if news {
			records = append(records, job.Record{Events: last})
		}
		if !c.write(ctx, records) {
			return false
		}
		c.announce()
	} else if news {
		c.owed.last = last
	}
	c.d.trace.logBatches(batches)
	for _, b := range batches {
		for _, a := range b.effects.Actions {
			c.d.exec.perform(ctx, a)
		}
	}
	for _, r := range records {
		if r.Job != nil {
			c.d.waiters.wake(r.Job)
			c.d.opt.Tally.Job(r.Job)
		}
	}
	for _, b := range batches {
		for _, r := range b.effects.Replies {
			c.d.replies.deliver(r)
		}
		if b.barrier != nil {
			b.barrier.release()
		}
	}
	for _, r := range records { // after the replies, since nobody waits for the log
		logRecord(c.d.log, r)
		if r.Job != nil && r.Job.State.Terminal() && !r.Quiet {
			c.d.pruner.add()
		}
		if r.Directory != nil {
			c.d.remover.Bell.Ring()
		}
	}
	for i := range batches {
		c.broken.log(c.d.log, batches[i].effects.News)
	}
	return true
}

func (c *committer) announce() {
	c.d.events.announce()
	c.owed = owedNumber{}
}

// tryNumber writes only the owed number, without records, and then announces the events. If the
// write fails, the number is written together with the next records. No request waits for it.
func (c *committer) tryNumber(ctx context.Context) {
	try, cancel := c.d.host.Timeout(context.WithoutCancel(ctx), commitTime)
	defer cancel()
	c.begin(c.d.host.Now())
	err := c.d.opt.Store.Commit(try, []job.Record{{Events: c.owed.last}})
	c.begin(time.Time{})
	if err == nil {
		c.announce()
		return
	}
	c.owed.failures++
	c.owed.next = c.d.host.Now().Add(retry.After(c.owed.failures, firstCommitRetry, lastCommitRetry))
}

// gather joins the records of all batches. Several records of one attempt become one record, with
// the newest state of the job and the first payload. The record of a change that somebody made
// stays separate, because the log shows such a change in a line of its own.
func gather(batches []batch) []job.Record {
	var records []job.Record
	at := map[job.ID]int{}
	for _, b := range batches {
		for _, r := range b.effects.Records {
			if r.Job == nil {
				records = append(records, r)
				continue
			}
			i, known := at[r.Job.ID]
			if !known || attemptOf(records[i].Job) != attemptOf(r.Job) || r.Updated != nil || records[i].Updated != nil {
				at[r.Job.ID] = len(records)
				records = append(records, r)
				continue
			}
			records[i].Job, records[i].Quiet = r.Job, records[i].Quiet && r.Quiet
		}
	}
	return records
}

func attemptOf(j *job.Job) int {
	if j.Attempt == nil {
		return 0
	}
	return j.Attempt.Number
}

// write repeats the write until the records are on disk. It returns false if ctx ends first, or if
// no further try can succeed.
func (c *committer) write(ctx context.Context, records []job.Record) bool {
	for failures := 1; ; failures++ {
		try, cancel := c.d.host.Timeout(context.WithoutCancel(ctx), commitTime)
		c.begin(c.d.host.Now())
		err := c.d.opt.Store.Commit(try, records)
		cancel()
		c.note(err)
		c.d.log.Debug("state written", "records", len(records), "failed", err != nil)
		if err == nil {
			return true
		}
		if errors.Is(err, job.ErrDamaged) || errors.Is(err, job.ErrInvalid) {
			c.d.end(err) // no other try helps, and everybody waits for this write
			return false
		}
		if !pause(ctx, c.d.host, retry.After(failures, firstCommitRetry, lastCommitRetry)) {
			return false
		}
	}
}

func (c *committer) begin(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begun = now
}

// note logs when writes begin to fail and when they succeed again.
func (c *committer) note(err error) {
	c.mu.Lock()
	was := c.failure
	took := c.d.host.Now().Sub(c.begun)
	c.failure, c.begun = err, time.Time{}
	c.mu.Unlock()
	c.d.opt.Tally.Commit(took, err != nil)
	if took > SlowAfter {
		c.d.log.Warn("the disk of the state is slow: nothing was accepted or started meanwhile", "took", took)
	}
	switch {
	case err != nil && was == nil:
		c.d.log.Error("writing the state: jobs keep running, nothing new starts until it works again", "err", err)
	case err == nil && was != nil:
		c.d.log.Info("the state can be written again")
	}
}
