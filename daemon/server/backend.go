package server

import (
	"context"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/metrics"
)

// Backend is what the server needs of the daemon. Errors meant for people are
// *job.Refusal; any other error is internal and is logged, not shown.
type Backend interface {
	// Submit queues a job whose form has been checked (Submission.Validate), and returns once it
	// is on disk. A dry run answers the same and queues nothing.
	Submit(ctx context.Context, s job.Submission, dryRun bool) (job.Submitted, error)
	// Do carries out a command. Rights on jobs are checked by the backend,
	// which knows the owner; the route table has checked the rest.
	Do(ctx context.Context, who job.Actor, c job.Command) error
	// DoMany carries out commands about jobs, which it checks the rights of, and tells the outcomes of some
	// after the other, in their order, as they are on disk. After an error nothing else is done but
	// what is under way; begun is how many of the first were told or are under way.
	DoMany(ctx context.Context, who job.Actor, list []job.Command, told func([]job.Outcome) error) (begun int, err error)
	// Query returns what was asked, as of after everything acknowledged.
	Query(ctx context.Context, q job.Query) (job.View, error)
	// FindRenamed returns a refusal where an account as which jobs of the query wait was renamed, or was removed and
	// its number given to another, and nobody knew that yet. It holds these jobs.
	FindRenamed(ctx context.Context, q job.Query) error

	// Names returns what the live jobs of a query that names none are called, in the order of Query.
	Names(ctx context.Context, q job.Query) ([]job.Name, error)
	// Explain says what else there is to say of why a job waits, for a person, whose questions
	// are answered one after the other; with tries also what would have it start sooner.
	Explain(ctx context.Context, id job.ID, person int, tries bool) (job.Explained, error)
	// Course says what becomes of each GPU in the days to come.
	Course(ctx context.Context) (job.Course, error)
	// Wait blocks until the job is at rest, or ctx is done.
	Wait(ctx context.Context, id job.ID) (job.JobView, error)
	// Task returns the job that a task of an array has become, live or ended,
	// and 0 for one that has not become a job. No such array, or no such task
	// of it, is a refusal.
	Task(ctx context.Context, array job.ID, index int) (job.ID, error)
	// AwaitTask blocks until a task has become a job or will not by itself, or ctx is
	// done, and answers as Task then.
	AwaitTask(ctx context.Context, array job.ID, index int) (job.ID, error)
	// Results returns what the ended tasks of an array came to.
	Results(ctx context.Context, array job.ID) (job.Results, error)
	// Lately counts an account's jobs that ended at a moment or after it.
	Lately(ctx context.Context, uid int, since time.Time) (job.Lately, error)
	// Past returns a part of the jobs that have ended, as of after everything
	// acknowledged.
	Past(ctx context.Context, q job.PastQuery) (job.Past, error)
	// Runs calls f for every attempt that was under way from a moment on, with what
	// those that go on have used by now.
	Runs(ctx context.Context, q job.RunQuery, f func(*job.Run) error) error
	// Entitlement says what a user has, has used and may have.
	Entitlement(ctx context.Context, uid int) (job.Entitlement, error)
	// Payload returns a job's private part. The server has checked the right.
	Payload(ctx context.Context, id job.ID) (job.Payload, error)
	// Measure adds to a page of metrics what the scheduler knows, and so many users with
	// what they have.
	Measure(ctx context.Context, p *metrics.Page, users int) error
	// Events returns events after a number as soon as there is one, or none when ctx is
	// done. After -1 it is none at once, with the numbers of those that are kept.
	Events(ctx context.Context, after int64) (job.Events, error)
	// Health checks every part.
	Health(ctx context.Context) []job.Check
}
