package server

import (
	"context"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/metrics"
)

// Backend is the part of the daemon that the server uses. Errors that people should read have the
// type *job.Refusal. All other errors are internal: they are logged and not shown.
type Backend interface {
	// Submit queues a job that has passed Submission.Validate. It returns once the job is on disk.
	// A dry run returns the same, but queues nothing.
	Submit(ctx context.Context, s job.Submission, dryRun bool) (job.Submitted, error)
	// Do carries out a command. It checks rights on jobs, because the backend knows their owners.
	// The server has already checked all other rights, by the route table.
	Do(ctx context.Context, who job.Actor, c job.Command) error
	// DoMany carries out commands about jobs, and checks the rights on these jobs. It passes the
	// outcomes in pieces to the function report, in the order of the commands, once the outcomes
	// are on disk. After an error it begins no more commands. The result n counts the commands
	// whose outcomes were passed on, and the commands that are still in progress.
	DoMany(ctx context.Context, who job.Actor, list []job.Command, report func([]job.Outcome) error) (n int, err error)
	// Query returns the selected jobs. The answer includes every change that was acknowledged
	// before the call.
	Query(ctx context.Context, q job.Query) (job.View, error)
	// FindRenamed looks for selected waiting jobs whose account was renamed, or whose uid now
	// belongs to another account. It ignores jobs if the daemon already knew this about them. It
	// holds the jobs that it finds, and returns a refusal.
	FindRenamed(ctx context.Context, q job.Query) error

	// Names returns the names of the live jobs that a query selects, in the order of Query.
	// The query must not have ids.
	Names(ctx context.Context, q job.Query) ([]job.Name, error)
	// Explain returns more about why a job waits. If tries is true, it also returns which changes
	// would start the job sooner. The questions of one person are answered one after another.
	Explain(ctx context.Context, id job.ID, person int, tries bool) (job.Explained, error)
	// Course returns what is planned on each GPU for the next days.
	Course(ctx context.Context) (job.Course, error)
	// Wait blocks until ctx is done or the job is at rest: it has ended, or it is an array that
	// starts no more tasks because too many failed.
	Wait(ctx context.Context, id job.ID) (job.JobView, error)
	// Task returns the id of the job, live or ended, that a task of an array became. It returns 0
	// if the task has not become a job. It refuses an unknown array or task.
	Task(ctx context.Context, array job.ID, index int) (job.ID, error)
	// AwaitTask waits until a task has become a job, until the task certainly can't become one by
	// itself, or until ctx is done. AwaitTask then returns the same as Task.
	AwaitTask(ctx context.Context, array job.ID, index int) (job.ID, error)
	// Results returns the results of an array's ended tasks.
	Results(ctx context.Context, array job.ID) (job.Results, error)
	// Lately counts an account's jobs that have ended since the given time.
	Lately(ctx context.Context, uid int, since time.Time) (job.Lately, error)
	// Past returns a page of ended jobs. The page includes every change that was acknowledged
	// before the call.
	Past(ctx context.Context, q job.PastQuery) (job.Past, error)
	// Runs calls f for each attempt in the period of the query. A running attempt has its usage so
	// far.
	Runs(ctx context.Context, q job.RunQuery, f func(*job.Run) error) error
	// Entitlement returns a user's usage, quotas and limits.
	Entitlement(ctx context.Context, uid int) (job.Entitlement, error)
	// Payload returns a job's private part. Before the call, the server checks who may see that
	// part.
	Payload(ctx context.Context, id job.ID) (job.Payload, error)
	// Measure adds the scheduler's metrics to a page. At most maxUsers users have metrics of their
	// own.
	Measure(ctx context.Context, p *metrics.Page, maxUsers int) error
	// Events returns the events after a number. If there are none, it waits for an event, or until
	// ctx is done. If the number is -1, Events does not wait and returns no events, only the
	// numbers of the oldest and the newest event that are kept.
	Events(ctx context.Context, after int64) (job.Events, error)
	// Health returns the checks of all parts.
	Health(ctx context.Context) []job.Check
}
