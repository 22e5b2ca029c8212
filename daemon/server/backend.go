package server

import (
	"context"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/metrics"
)

// Backend is what the server needs of the daemon. Errors that people should read are *job.Refusal.
// Any other error is internal: it is logged and not shown.
type Backend interface {
	// Submit queues a job that has passed Submission.Validate, and returns once the job is on disk.
	// A dry run returns the same and queues nothing.
	Submit(ctx context.Context, s job.Submission, dryRun bool) (job.Submitted, error)
	// Do carries out a command. It checks rights on jobs, because it knows their owners; the route
	// table has checked all other rights.
	Do(ctx context.Context, who job.Actor, c job.Command) error
	// DoMany carries out commands about jobs, whose rights it checks. It calls told with outcomes
	// in the commands' order, some at a time, as they reach the disk. After an error it begins
	// nothing more. The first begun commands have been told or are still under way.
	DoMany(ctx context.Context, who job.Actor, list []job.Command, told func([]job.Outcome) error) (begun int, err error)
	// Query returns the selected jobs. The answer includes everything that was acknowledged before.
	Query(ctx context.Context, q job.Query) (job.View, error)
	// FindRenamed looks for selected waiting jobs whose account was renamed, or was removed and its
	// number given to another account, without the daemon knowing it yet. It holds these jobs and
	// returns a refusal.
	FindRenamed(ctx context.Context, q job.Query) error

	// Names returns the names of the live jobs that a query without ids selects, in the order of
	// Query.
	Names(ctx context.Context, q job.Query) ([]job.Name, error)
	// Explain returns what else is known about why a job waits; with tries also which changes would
	// make it start sooner. The questions of one person are answered one after the other.
	Explain(ctx context.Context, id job.ID, person int, tries bool) (job.Explained, error)
	// Course returns what is planned on each GPU for the days to come.
	Course(ctx context.Context) (job.Course, error)
	// Wait blocks until the job is at rest, or ctx is done.
	Wait(ctx context.Context, id job.ID) (job.JobView, error)
	// Task returns the job, live or ended, that a task of an array has become; 0 if it has not
	// become one. An unknown array or task is a refusal.
	Task(ctx context.Context, array job.ID, index int) (job.ID, error)
	// AwaitTask blocks until a task has become a job, or will not become one by itself, or ctx is
	// done. It then returns what Task returns.
	AwaitTask(ctx context.Context, array job.ID, index int) (job.ID, error)
	// Results returns how the ended tasks of an array ended.
	Results(ctx context.Context, array job.ID) (job.Results, error)
	// Lately counts an account's jobs that ended at or after a time.
	Lately(ctx context.Context, uid int, since time.Time) (job.Lately, error)
	// Past returns a page of the jobs that have ended. The page includes everything that was
	// acknowledged before.
	Past(ctx context.Context, q job.PastQuery) (job.Past, error)
	// Runs calls f for every attempt that ran at or after a time. Attempts that still run have what
	// they have used so far.
	Runs(ctx context.Context, q job.RunQuery, f func(*job.Run) error) error
	// Entitlement returns a user's usage, quotas and limits.
	Entitlement(ctx context.Context, uid int) (job.Entitlement, error)
	// Payload returns a job's private part. The server has checked the right to see it.
	Payload(ctx context.Context, id job.ID) (job.Payload, error)
	// Measure adds the scheduler's metrics to a page. It names at most that many users.
	Measure(ctx context.Context, p *metrics.Page, users int) error
	// Events returns the events after a number as soon as there are any, or none when ctx is done.
	// After -1 it returns at once, without events but with the numbers of the oldest and newest
	// that are kept.
	Events(ctx context.Context, after int64) (job.Events, error)
	// Health returns the checks of all parts.
	Health(ctx context.Context) []job.Check
}
