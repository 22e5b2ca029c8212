package servertest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// Done is one command and who gave it.
type Done struct {
	Who     job.Actor
	Command job.Command
}

// Backend answers from its fields. Set them before use; afterwards use the
// methods.
type Backend struct {
	View     job.View
	Payloads map[job.ID]job.Payload
	Checks   []job.Check
	Fail     error          // what every call returns instead of an answer
	Panic    bool           // every call panics
	Now      time.Time      // when a submitted job was submitted
	Place    []job.GPURef   // where a submitted job starts at once; nil: it waits
	Reasons  []job.Reason   // why a submitted job waits
	Unit     []job.Property // what a dry run answers
	EndAs    *job.Result    // how a submitted job ends at once; nil: it does not

	mu       sync.Mutex // guards everything from the first call on
	changed  chan struct{}
	done     []Done
	received []job.Submission
}

// lock begins a call.
func (b *Backend) lock() error {
	if b.Panic {
		panic("the test wants it")
	}
	b.mu.Lock()
	if b.changed == nil {
		b.changed = make(chan struct{})
	}
	return b.Fail
}

// Commands returns what Do was given.
func (b *Backend) Commands() []Done {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.done)
}

// Submissions returns what Submit was given.
func (b *Backend) Submissions() []job.Submission {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.received)
}

// End ends a job and wakes those who wait for it.
func (b *Backend) End(id job.ID, r job.Result) {
	defer b.mu.Unlock()
	if b.lock() == nil {
		b.end(b.find(id), r)
	}
}

func (b *Backend) end(v *job.JobView, r job.Result) {
	v.State, v.Result, v.ChangedAt, v.Reasons = r.Outcome, &r, b.Now, nil
	close(b.changed)
	b.changed = make(chan struct{})
}

func (b *Backend) find(id job.ID) *job.JobView {
	for i := range b.View.Jobs {
		if b.View.Jobs[i].ID == id {
			return &b.View.Jobs[i]
		}
	}
	return nil
}

// Submit records the submission and queues or starts the job.
func (b *Backend) Submit(_ context.Context, s job.Submission, dryRun bool) (job.Submitted, error) {
	err := b.lock()
	defer b.mu.Unlock()
	if err != nil {
		return job.Submitted{}, err
	}
	b.received = append(b.received, s)
	v := job.JobView{Job: job.Job{
		Key: s.Key, Owner: s.Owner, Label: s.Label, Request: s.Request, SubmittedAt: b.Now, ChangedAt: b.Now, State: job.Queued,
	}, Reasons: b.Reasons}
	if b.Place != nil {
		v.State, v.Reasons = job.Starting, nil
		v.Attempt = &job.Attempt{Number: 1, GPUs: b.Place, PlacedAt: b.Now}
	}
	if dryRun {
		return job.Submitted{JobView: v, Unit: b.Unit}, nil
	}
	v.ID = 1
	for _, old := range b.View.Jobs {
		if s.Key != "" && old.Key == s.Key && old.Owner.UID == s.Owner.UID {
			return job.Submitted{JobView: old, Known: true}, nil
		}
		v.ID = max(v.ID, old.ID+1)
	}
	b.View.Jobs = append(b.View.Jobs, v)
	if b.EndAs != nil {
		b.end(&b.View.Jobs[len(b.View.Jobs)-1], *b.EndAs)
	}
	return job.Submitted{JobView: v}, nil
}

// Do records the command; a cancel of a waiting job ends it, that of a running
// one marks it.
func (b *Backend) Do(_ context.Context, who job.Actor, c job.Command) error {
	err := b.lock()
	defer b.mu.Unlock()
	if err != nil {
		return err
	}
	if c.Kind == job.CommandPauseGPU || c.Kind == job.CommandResumeGPU {
		return b.control(who, c)
	}
	v := b.find(c.Job)
	switch {
	case v == nil:
		return noJob(c.Job)
	case !who.MayControl(v.Owner):
		return &job.Refusal{Kind: job.RefusedForbidden, Message: fmt.Sprintf("job %d belongs to %s", c.Job, v.Owner.User)}
	case v.State.Terminal():
		return &job.Refusal{Kind: job.RefusedConflict, Message: fmt.Sprintf("job %d has already ended", c.Job)}
	}
	b.done = append(b.done, Done{who, c})
	if c.Kind == job.CommandCancel {
		v.Stop, v.StopBy = job.StopCancel, who.User
		if v.State == job.Queued {
			b.end(v, job.Result{Outcome: job.Cancelled, By: who.User})
		}
	}
	return nil
}

func (b *Backend) control(who job.Actor, c job.Command) error {
	for i := range b.View.GPUs {
		if g := &b.View.GPUs[i]; g.Index == c.GPU {
			b.done = append(b.done, Done{who, c})
			g.Control = job.GPUControl{UUID: g.UUID}
			g.State = "free"
			if c.Kind == job.CommandPauseGPU {
				g.Control = job.GPUControl{UUID: g.UUID, Paused: true, Reason: c.Reason, By: who.User}
				g.State = "paused"
			}
			return nil
		}
	}
	return &job.Refusal{Kind: job.RefusedNotFound, Message: fmt.Sprintf("there is no GPU %d", c.GPU), Hint: "see 'gpusched gpus'"}
}

func noJob(id job.ID) error {
	return &job.Refusal{Kind: job.RefusedNotFound, Message: fmt.Sprintf("there is no job %d", id), Hint: "see 'gpusched list -a'"}
}

// Query answers from View.
func (b *Backend) Query(_ context.Context, q job.Query) (job.View, error) {
	err := b.lock()
	defer b.mu.Unlock()
	if err != nil {
		return job.View{}, err
	}
	out := b.View
	out.Jobs, out.Counts = nil, map[job.State]int{}
	out.GPUs = slices.Clone(b.View.GPUs)
	var ended []job.JobView
	for _, v := range b.View.Jobs {
		if !v.State.Terminal() {
			out.Counts[v.State]++
		}
		if !matches(q, v) {
			continue
		}
		if !q.Reasons {
			v.Reasons = nil
		}
		if v.State.Terminal() {
			ended = append(ended, v)
		} else {
			out.Jobs = append(out.Jobs, v)
		}
	}
	slices.SortStableFunc(ended, func(x, y job.JobView) int { return y.ChangedAt.Compare(x.ChangedAt) })
	if q.IDs == nil {
		ended = ended[:min(len(ended), q.Ended)]
	}
	out.Jobs = append(out.Jobs, ended...)
	return out, nil
}

func matches(q job.Query, v job.JobView) bool {
	if q.IDs != nil {
		return slices.Contains(q.IDs, v.ID)
	}
	return (q.UID == nil || *q.UID == v.Owner.UID) && (q.State == "" || q.State == v.State) &&
		(q.Name == "" || q.Name == v.Label.Name)
}

// Wait blocks until End or a cancel ended the job.
func (b *Backend) Wait(ctx context.Context, id job.ID) (job.JobView, error) {
	for {
		v, changed, err := b.look(id)
		if err != nil || v.State.Terminal() {
			return v, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return job.JobView{}, ctx.Err()
		}
	}
}

func (b *Backend) look(id job.ID) (job.JobView, <-chan struct{}, error) {
	err := b.lock()
	defer b.mu.Unlock()
	v := b.find(id)
	if err == nil && v == nil {
		err = noJob(id)
	}
	if err != nil {
		return job.JobView{}, nil, err
	}
	return *v, b.changed, nil
}

// Payload answers from Payloads.
func (b *Backend) Payload(_ context.Context, id job.ID) (job.Payload, error) {
	err := b.lock()
	defer b.mu.Unlock()
	return b.Payloads[id], err
}

// Health answers with Checks.
func (b *Backend) Health(context.Context) []job.Check {
	b.lock()
	defer b.mu.Unlock()
	return b.Checks
}
