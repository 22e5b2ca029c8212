package api

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// ListQuery selects jobs for a listing. The zero ListQuery selects all jobs that have not ended.
type ListQuery struct {
	// IDs names jobs, live or ended, such as "12,14-16,7_3". Every name is complete:
	// in "7_3,12", the second name is job 12.
	IDs string `query:"ids"`
	// Array selects the tasks of an array that have become jobs. The field Ended limits how many
	// ended tasks are listed.
	Array job.ID `query:"array"`
	// Ended is the largest number of ended jobs to list, newest first. Jobs that ended before the
	// time Since are left out.
	Ended int       `query:"ended" in:"0-10000" wrong:"%q is not a number of ended jobs: use 0 to 10000"`
	Since time.Time `query:"since" wrong:"%q is not a time in RFC 3339"`

	User   string      `query:"user"`
	UID    *int        `query:"uid" in:"0-4294967295" wrong:"no account named %q on this machine"`
	States []job.State `query:"state"`
	Name   string      `query:"name"` // exact name
	Like   string      `query:"like"` // pattern for the name: * matches any text, ? any character
	// Tags selects jobs that have all of these tags.
	Tags map[string]string `query:"tag" wrong:"%q is not a tag: use KEY=VALUE"`

	// Reasons asks why each waiting job waits. WithReasons selects sentences, ReasonCodes only
	// codes.
	Reasons string `query:"reasons"`
	// Waiting is the largest number of waiting jobs to list,
	// from the head of the queue. 0 lists all.
	Waiting int `query:"waiting" in:"0-9223372036854775807" wrong:"%q is not a number of waiting jobs: use 0 for all of them"`
	// Names selects a listing that has only each job's id and task. It takes a tenth of the time of
	// a full listing.
	Names bool `query:"names"`
	// Recent also asks how many of the caller's jobs ended within the last hour.
	Recent bool `query:"recent"`

	// Form selects a line of text per job instead of JSON. Its values are FormIDs and FormOwners.
	// If Form is set, the field For can name a command. The listing then has only the jobs to which
	// the command can be applied, in the right order for applying it.
	Form string          `query:"form"`
	For  job.CommandKind `query:"for"`
}

// Values of ListQuery.Reasons and ListQuery.Form.
const (
	WithReasons = "1"
	ReasonCodes = "brief"

	FormIDs    = "ids"    // each line is the number of a job, such as "12", or of a task, such as "7_3"
	FormOwners = "owners" // like FormIDs, with the owner's uid at the end of each line
)

// JobQuery lists what Show returns in addition to the job.
type JobQuery struct {
	Results bool `query:"results"` // how the tasks of an array ended
	// Why asks which jobs are ahead of a waiting job in the queue. If the caller may change the
	// job, it also asks which changes would start the job sooner.
	Why bool `query:"why"`
	// Printed makes journald write everything that the job has printed so far. JobReply.Printed
	// says whether the journal now has all of it.
	Printed bool `query:"printed"`
}

// WaitQuery limits how long the server waits before it answers.
type WaitQuery struct {
	Seconds *int `query:"timeout_seconds" in:"0-600" wrong:"%q is not a time to wait: use 0 to 600 seconds"`
}

// PlanQuery says how far ahead to plan, from a minute to 7 days. 0 means a day.
type PlanQuery struct {
	Seconds int `query:"horizon_seconds" in:"60-604800" wrong:"%q is not a time to plan ahead: use 60 to 604800 seconds"`
}

// MetricsQuery names a format of package metrics. "" means OpenMetrics.
type MetricsQuery struct {
	Format string `query:"format"`
}

// UsageQuery names a user. "" means the caller. Zone has the same meaning as in ReportQuery.
type UsageQuery struct {
	User string `query:"user"`
	Zone string `query:"zone"`
}

// List returns the selected jobs, and the GPUs.
func List(ctx context.Context, e Engine, q ListQuery) (out ListReply, err error) {
	return out, e.Get(ctx, RouteList, "", q, &out)
}

// IDs returns the ids of the selected jobs, one per line. It takes a tenth of the time of List.
func IDs(ctx context.Context, e Engine, q ListQuery) (lines []byte, err error) {
	q.Form, q.Names = FormIDs, false
	q.Reasons, q.Recent = "", false
	return lines, e.Get(ctx, RouteList, "", q, &lines)
}

// Takes returns the ids of the selected jobs to which a command can be applied, in the right order
// for applying it. It also returns the number of users who own these jobs.
func Takes(ctx context.Context, e Engine, q ListQuery, command job.CommandKind) (ids []string, users int, err error) {
	q.Form, q.For = FormOwners, command
	var text []byte
	if err := e.Get(ctx, RouteList, "", q, &text); err != nil {
		return nil, 0, err
	}
	owners := map[int]bool{}
	for line := range strings.Lines(string(text)) {
		id, owner, _ := strings.Cut(strings.TrimSpace(line), " ")
		uid, err := strconv.Atoi(owner)
		if err != nil {
			return nil, 0, &Error{Code: CodeInternal, Message: fmt.Sprintf("the scheduler's answer has the line %q", line)}
		}
		ids, owners[uid] = append(ids, id), true
	}
	return ids, len(owners), nil
}

// Show returns everything about one job, and what the query asks for. JobReply.Private is set only
// if the caller may see it.
func Show(ctx context.Context, e Engine, id string, q JobQuery) (out JobReply, err error) {
	return out, e.Get(ctx, RouteShow, id, q, &out)
}

// Wait waits until the job has ended. If the timeout is above 0 and passes first, Wait returns an
// error with CodeWaitTimeout.
func Wait(ctx context.Context, e Engine, id string, timeout time.Duration) (out JobReply, err error) {
	q, limited, end := WaitQuery{new(int(longPoll / time.Second))}, ctx, time.Now().Add(timeout)
	if timeout > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithDeadline(ctx, end)
		defer cancel()
	}
	err = e.Get(limited, RouteWait, id, q, &out)
	// The connection may reach its deadline a moment before the context reaches its own.
	over := timeout > 0 && (limited.Err() != nil || !time.Now().Before(end))
	if err != nil && over && ctx.Err() == nil {
		return out, &Error{
			Code: CodeWaitTimeout, Message: fmt.Sprintf("job %s has not ended after %s", id, timeout),
			Hint: fmt.Sprintf("see 'gpusched show %s'", id),
		}
	}
	return out, err
}

// Status returns a summary of the daemon, its jobs and its GPUs.
func Status(ctx context.Context, e Engine) (out StatusReply, err error) {
	return out, e.Get(ctx, RouteStatus, "", nil, &out)
}

// Health returns the daemon's checks of its parts.
func Health(ctx context.Context, e Engine) (out HealthReply, err error) {
	return out, e.Get(ctx, RouteHealth, "", nil, &out)
}

// Version returns the versions of the running daemon.
func Version(ctx context.Context, e Engine) (out VersionReply, err error) {
	return out, e.Get(ctx, RouteVersion, "", nil, &out)
}

// Metrics returns a page of all metrics, in a format of package metrics.
func Metrics(ctx context.Context, e Engine, format string) (page []byte, err error) {
	return page, e.Get(ctx, RouteMetrics, "", MetricsQuery{format}, &page)
}

// GPUs returns the GPUs.
func GPUs(ctx context.Context, e Engine) (out GPUsReply, err error) {
	return out, e.Get(ctx, RouteGPUs, "", nil, &out)
}

// Reservations returns the advance reservations that have not ended.
func Reservations(ctx context.Context, e Engine) (out ReservationsReply, err error) {
	return out, e.Get(ctx, RouteReservations, "", nil, &out)
}

// Plan returns what is planned on each GPU from now on. The argument length is the length of the
// plan, from a minute to 7 days. 0 means a day.
func Plan(ctx context.Context, e Engine, length time.Duration) (out PlanReply, err error) {
	return out, e.Get(ctx, RoutePlan, "", PlanQuery{int(length / time.Second)}, &out)
}

// Report returns sums over the jobs of a period.
func Report(ctx context.Context, e Engine, q ReportQuery) (out ReportReply, err error) {
	return out, e.Get(ctx, RouteReport, "", q, &out)
}

// Usage returns a user's usage, quotas and limits.
func Usage(ctx context.Context, e Engine, q UsageQuery) (out UsageReply, err error) {
	return out, e.Get(ctx, RouteUsage, "", q, &out)
}

// History returns a page of the selected ended jobs. To get the next page, set HistoryQuery.After
// to HistoryReply.Next.
func History(ctx context.Context, e Engine, q HistoryQuery) (out HistoryReply, err error) {
	return out, e.Get(ctx, RouteHistory, "", q, &out)
}

// EachPast calls f for every selected ended job, in the query's order, on all pages. It stops at
// the first error.
func EachPast(ctx context.Context, e Engine, q HistoryQuery, f func(PastJob) error) error {
	for {
		page, err := History(ctx, e, q)
		if err != nil {
			return err
		}
		for i := range page.Jobs {
			if err := f(page.Jobs[i]); err != nil {
				return err
			}
		}
		if q.After = page.Next; q.After == "" {
			return nil
		}
	}
}

// ActOnJob sends a request that changes a job. The body must fit the route, or be nil.
func ActOnJob(ctx context.Context, e Engine, r *Route, id string, body any) (out JobReply, err error) {
	return out, e.Do(ctx, r, id, body, &out)
}

// ActOnGPU sends a request that changes a GPU. The body is a PauseRequest, or nil.
func ActOnGPU(ctx context.Context, e Engine, r *Route, index int, body any) (out GPUsReply, err error) {
	return out, e.Do(ctx, r, strconv.Itoa(index), body, &out)
}
