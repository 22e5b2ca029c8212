package servertest

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/gpusched/gpusched/daemon/events"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/metrics"
)

// Done is a command together with the account that gave it.
type Done struct {
	Who     job.Actor
	Command job.Command
}

// Backend answers with the values of its fields. A test sets the fields first. After the first
// call, it uses only the methods.
type Backend struct {
	View      job.View
	Payloads  map[job.ID]job.Payload
	Unread    map[job.ID]bool // jobs whose private part is lost
	Checks    []job.Check
	Fail      error            // every call returns this error
	Panic     bool             // every call panics
	Now       time.Time        // time of everything that happens
	Place     []job.Allocation // where a submitted job starts at once; nil: the job waits
	Reasons   []job.Reason     // why a submitted job waits
	Unit      []job.Property   // answer to a dry run
	Explained map[job.ID]job.Explained
	Ahead     job.Course      // answer of Course
	Entitled  job.Entitlement // answer of Entitlement
	NoRaise   bool            // nobody may raise a priority
	EndAs     *job.Result     // how a submitted job ends at once; nil: the job does not end

	mu       sync.Mutex // guards all fields after the first call
	changed  chan struct{}
	done     []Done
	received []job.Submission
	events   *events.Ring
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

// Commands returns the commands that were carried out.
func (b *Backend) Commands() []Done {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.done)
}

// Submissions returns all submissions so far.
func (b *Backend) Submissions() []job.Submission {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.received)
}

// End ends a job and wakes all calls that wait for it.
func (b *Backend) End(id job.ID, r job.Result) {
	defer b.mu.Unlock()
	if b.lock() == nil {
		b.end(b.find(id), r)
	}
}

// Start starts a waiting job on the GPUs in Place.
func (b *Backend) Start(id job.ID) {
	defer b.mu.Unlock()
	if b.lock() != nil {
		return
	}
	v := b.find(id)
	v.State, v.Reasons = job.Running, nil
	v.Attempt = &job.Attempt{Number: 1, InvocationID: "begun-" + id.String(), GPUs: b.Place, PlacedAt: b.Now, StartedAt: b.Now}
	b.news()
}

func (b *Backend) end(v *job.JobView, r job.Result) {
	v.State, v.Result = r.Outcome, &r
	v.ChangedAt, v.Reasons = b.Now, nil
	b.news()
}

// news wakes all calls that wait.
func (b *Backend) news() {
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

// Submit records the submission, and queues or starts the job.
func (b *Backend) Submit(_ context.Context, s job.Submission, dryRun bool) (job.Submitted, error) {
	err := b.lock()
	defer b.mu.Unlock()
	if err != nil {
		return job.Submitted{}, err
	}
	if b.NoRaise && s.Request.Priority.Raised() {
		return job.Submitted{}, job.Refuse("forbidden/priority")
	}
	b.received = append(b.received, s)
	v := b.newJob(s)
	if dryRun {
		return job.Submitted{JobView: v, Unit: b.Unit}, nil
	}
	v.ID = 1
	for _, old := range b.View.Jobs {
		if isRepeat(&s, &old) {
			return job.Submitted{JobView: old, Known: true}, nil
		}
		v.ID = max(v.ID, old.ID+1)
	}
	b.View.Jobs = append(b.View.Jobs, v)
	if b.Payloads == nil {
		b.Payloads = map[job.ID]job.Payload{}
	}
	b.Payloads[v.ID] = s.Payload
	if b.EndAs != nil {
		b.end(&b.View.Jobs[len(b.View.Jobs)-1], *b.EndAs)
	}
	return job.Submitted{JobView: v}, nil
}

// newJob returns the new job. A held job and an array wait. Any other job starts on the GPUs in
// Place, or waits if there are none.
func (b *Backend) newJob(s job.Submission) job.JobView {
	v := job.JobView{Job: job.Job{
		Key: s.Key, Owner: s.Owner, Label: s.Label, Request: s.Request, State: job.Queued,
		SubmittedAt: b.Now, ChangedAt: b.Now,
		Life: job.Life{QueuedAt: b.Now, Pending: s.Request.After},
	}, Reasons: b.Reasons}
	switch {
	case s.Request.Hold:
		setHold(&v, s.Owner.User, false)
	case s.Request.Array != nil:
		v.Tasks = &job.Tasks{}
	case b.Place != nil:
		v.State, v.Reasons = job.Starting, nil
		v.Attempt = &job.Attempt{Number: 1, GPUs: b.Place, PlacedAt: b.Now}
	}
	return v
}

// setHold records who holds a job, and whether its owner may release it.
func setHold(v *job.JobView, by string, over bool) {
	v.Held, v.HeldOver = by, over
	v.Reasons = []job.Reason{{Code: job.ReasonHeld, GPU: job.NoGPU, Detail: job.Text(by)}}
}

// isRepeat reports whether a submission repeats an earlier job: both have the same request key, or
// both have the same content and the job did not fail.
func isRepeat(s *job.Submission, earlier *job.JobView) bool {
	if s.Owner.UID != earlier.Owner.UID {
		return false
	}
	counts := !earlier.State.Terminal() || earlier.State == job.Completed
	content := s.Request.Dedup != "" && s.Request.Dedup == earlier.Request.Dedup && counts
	return content || s.Key != "" && s.Key == earlier.Key
}

func noJob(id job.ID) error { return job.Refuse("not-found/job", id) }

// Query returns the jobs and GPUs of View that match.
func (b *Backend) Query(_ context.Context, q job.Query) (job.View, error) {
	err := b.lock()
	defer b.mu.Unlock()
	if err != nil {
		return job.View{}, err
	}
	out := b.View
	out.Jobs, out.Counts = nil, map[job.State]int{}
	out.GPUs = slices.Clone(b.View.GPUs)
	out.Omitted = 0
	if !q.Totals {
		out.Totals = nil
	}
	waiting := 0
	var ended []job.JobView
	for _, v := range b.View.Jobs {
		if !v.State.Terminal() {
			out.Counts[v.State]++
		}
		if q.IDs != nil && !slices.Contains(q.IDs, v.ID) || !q.Matches(&v.Job) {
			continue
		}
		if !q.Reasons {
			v.Reasons = nil
		}
		if v.State == job.Queued {
			if waiting++; q.Waiting > 0 && waiting > q.Waiting {
				out.Omitted++
				continue
			}
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

// FindRenamed finds nothing, because no account here has been renamed.
func (b *Backend) FindRenamed(context.Context, job.Query) error { return nil }

// Names returns names of the jobs in View.
func (b *Backend) Names(ctx context.Context, q job.Query) (names []job.Name, err error) {
	q.Ended = 0
	v, err := b.Query(ctx, q)
	for i := range v.Jobs {
		j := &v.Jobs[i]
		if q.For == "" || q.For.Takes(&j.Job) {
			names = append(names, job.Name{ID: j.ID, Task: j.Task, UID: j.Owner.UID})
		}
	}
	if q.For == job.CommandCancel {
		slices.Reverse(names)
		slices.SortStableFunc(names, func(x, y job.Name) int {
			return b.find(y.ID).State.ListRank() - b.find(x.ID).State.ListRank()
		})
	}
	return names, err
}

// Explain returns the field Explained for the job.
func (b *Backend) Explain(_ context.Context, id job.ID, _ int, tries bool) (job.Explained, error) {
	err := b.lock()
	defer b.mu.Unlock()
	out := b.Explained[id]
	if !tries {
		out.Sooner, out.Tried = nil, 0
	}
	return out, err
}

// Course returns the field Ahead.
func (b *Backend) Course(context.Context) (job.Course, error) {
	err := b.lock()
	defer b.mu.Unlock()
	return b.Ahead, err
}

// Measure adds metrics about View.
func (b *Backend) Measure(_ context.Context, p *metrics.Page, _ int) error {
	err := b.lock()
	defer b.mu.Unlock()
	if err == nil {
		p.AddView(&b.View)
	}
	return err
}

// Wait waits until the method End or a cancel has ended the job.
func (b *Backend) Wait(ctx context.Context, id job.ID) (job.JobView, error) {
	for {
		v, changed, err := b.look(id)
		if err != nil || v.AtRest() {
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

// Payload returns the job's entry in the field Payloads.
func (b *Backend) Payload(_ context.Context, id job.ID) (job.Payload, error) {
	err := b.lock()
	defer b.mu.Unlock()
	if err == nil && b.Unread[id] {
		err = job.ErrNoPayload
	}
	return b.Payloads[id], err
}

// Health returns the field Checks.
func (b *Backend) Health(context.Context) []job.Check {
	b.lock()
	defer b.mu.Unlock()
	return b.Checks
}
