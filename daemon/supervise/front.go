package supervise

import (
	"context"
	"sync"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/server"
)

// front is what the server asks: the scheduler, or, while that can't be started,
// one who says why. Requests that come while it is being started wait, as they
// would in the socket's backlog.
type front struct {
	mu      sync.Mutex     // guards what follows
	backend server.Backend // nil: being started
	changed chan struct{}  // closed with the next change
}

// newFront makes one behind which the scheduler is being started.
func newFront() *front { return &front{changed: make(chan struct{})} }

// put lets b answer from now on; nil has everybody wait.
func (f *front) put(b server.Backend) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.backend = b
	close(f.changed)
	f.changed = make(chan struct{})
}

// get returns who answers now. Where nobody does until ctx ends, that is an
// absent one with the error of ctx.
func (f *front) get(ctx context.Context) server.Backend {
	for {
		f.mu.Lock()
		b, changed := f.backend, f.changed
		f.mu.Unlock()
		if b != nil {
			return b
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return absent{err: ctx.Err()}
		}
	}
}

// Submit and what follows pass the request on.
func (f *front) Submit(ctx context.Context, s job.Submission, dryRun bool) (job.Submitted, error) {
	return f.get(ctx).Submit(ctx, s, dryRun)
}

func (f *front) Do(ctx context.Context, who job.Actor, c job.Command) error {
	return f.get(ctx).Do(ctx, who, c)
}

func (f *front) Query(ctx context.Context, q job.Query) (job.View, error) {
	return f.get(ctx).Query(ctx, q)
}

func (f *front) Wait(ctx context.Context, id job.ID) (job.JobView, error) {
	return f.get(ctx).Wait(ctx, id)
}

func (f *front) Task(ctx context.Context, array job.ID, index int) (job.ID, error) {
	return f.get(ctx).Task(ctx, array, index)
}

func (f *front) AwaitTask(ctx context.Context, array job.ID, index int) (job.ID, error) {
	return f.get(ctx).AwaitTask(ctx, array, index)
}

func (f *front) Payload(ctx context.Context, id job.ID) (job.Payload, error) {
	return f.get(ctx).Payload(ctx, id)
}

func (f *front) Health(ctx context.Context) []job.Check { return f.get(ctx).Health(ctx) }

// absent answers everything but health with its error.
type absent struct {
	err    error
	checks func(context.Context) []job.Check
}

func (a absent) Submit(context.Context, job.Submission, bool) (job.Submitted, error) {
	return job.Submitted{}, a.err
}
func (a absent) Do(context.Context, job.Actor, job.Command) error       { return a.err }
func (a absent) Query(context.Context, job.Query) (job.View, error)     { return job.View{}, a.err }
func (a absent) Wait(context.Context, job.ID) (job.JobView, error)      { return job.JobView{}, a.err }
func (a absent) Task(context.Context, job.ID, int) (job.ID, error)      { return 0, a.err }
func (a absent) AwaitTask(context.Context, job.ID, int) (job.ID, error) { return 0, a.err }
func (a absent) Payload(context.Context, job.ID) (job.Payload, error)   { return job.Payload{}, a.err }
func (a absent) Health(ctx context.Context) []job.Check {
	if a.checks == nil {
		return nil
	}
	return a.checks(ctx)
}
