package supervise

import (
	"context"
	"sync"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/metrics"
	"github.com/gpusched/gpusched/daemon/server"
)

// front has the backend of the server: the scheduler, or a substitute that says why the scheduler
// can't start. Requests that arrive while the scheduler starts wait until the start is over.
type front struct {
	mu      sync.Mutex     // guards the fields below
	backend server.Backend // nil while the scheduler starts
	changed chan struct{}  // closed when backend changes
}

// put makes b the backend. If b is nil, requests wait.
func (f *front) put(b server.Backend) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.backend = b
	close(f.changed)
	f.changed = make(chan struct{})
}

// get waits for a backend and returns it. If ctx ends first, it returns a backend that answers with
// the error of ctx.
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
			return unavailableBackend{err: ctx.Err()}
		}
	}
}

// unavailableBackend is a backend that answers every request except health with its error.
type unavailableBackend struct {
	err    error
	checks func(context.Context) []job.Check
}

func (a unavailableBackend) Submit(context.Context, job.Submission, bool) (job.Submitted, error) {
	return job.Submitted{}, a.err
}
func (a unavailableBackend) Do(context.Context, job.Actor, job.Command) error     { return a.err }
func (a unavailableBackend) FindRenamed(context.Context, job.Query) error         { return a.err }
func (a unavailableBackend) Names(context.Context, job.Query) ([]job.Name, error) { return nil, a.err }
func (a unavailableBackend) DoMany(context.Context, job.Actor, []job.Command, func([]job.Outcome) error) (int, error) {
	return 0, a.err
}
func (a unavailableBackend) Query(context.Context, job.Query) (job.View, error) {
	return job.View{}, a.err
}
func (a unavailableBackend) Wait(context.Context, job.ID) (job.JobView, error) {
	return job.JobView{}, a.err
}
func (a unavailableBackend) Task(context.Context, job.ID, int) (job.ID, error)      { return 0, a.err }
func (a unavailableBackend) AwaitTask(context.Context, job.ID, int) (job.ID, error) { return 0, a.err }
func (a unavailableBackend) Explain(context.Context, job.ID, int, bool) (job.Explained, error) {
	return job.Explained{}, a.err
}
func (a unavailableBackend) Course(context.Context) (job.Course, error) { return job.Course{}, a.err }

func (a unavailableBackend) Results(context.Context, job.ID) (job.Results, error) {
	return job.Results{}, a.err
}
func (a unavailableBackend) Runs(context.Context, job.RunQuery, func(*job.Run) error) error {
	return a.err
}
func (a unavailableBackend) Entitlement(context.Context, int) (job.Entitlement, error) {
	return job.Entitlement{}, a.err
}
func (a unavailableBackend) Lately(context.Context, int, time.Time) (job.Lately, error) {
	return job.Lately{}, a.err
}
func (a unavailableBackend) Past(context.Context, job.PastQuery) (job.Past, error) {
	return job.Past{}, a.err
}
func (a unavailableBackend) Events(context.Context, int64) (job.Events, error) {
	return job.Events{}, a.err
}
func (a unavailableBackend) Payload(context.Context, job.ID) (job.Payload, error) {
	return job.Payload{}, a.err
}
func (a unavailableBackend) Measure(context.Context, *metrics.Page, int) error { return a.err }
func (a unavailableBackend) Health(ctx context.Context) []job.Check {
	if a.checks == nil {
		return nil
	}
	return a.checks(ctx)
}
