package api

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// ListQuery selects jobs; zero fields select everything live.
type ListQuery struct {
	// IDs, such as "12,14-16,7_3", are the jobs, live or ended. Each name is whole: "7_3,12" is job 12, too.
	IDs string `query:"ids"`
	// Array has its tasks alone that have become jobs (ended ones as far as Ended goes).
	Array job.ID `query:"array"`
	// Ended also has so many ended jobs, the newest first, and Since those alone that ended not before then.
	Ended int       `query:"ended" in:"0-10000" wrong:"%q is not a number of ended jobs: use 0 to 10000"`
	Since time.Time `query:"since" wrong:"%q is not a time in RFC 3339"`

	User   string      `query:"user"`
	UID    *int        `query:"uid" in:"0-4294967295" wrong:"no account named %q on this machine"`
	States []job.State `query:"state"`
	Name   string      `query:"name"` // with exactly this name
	Like   string      `query:"like"` // with a name that this pattern matches: * is any text, ? any character
	// Tags has jobs with all of these.
	Tags map[string]string `query:"tag" wrong:"%q is not a tag: use KEY=VALUE"`

	// Reasons has why each waiting job waits: WithReasons, or ReasonCodes for what they are about, without sentences.
	Reasons string `query:"reasons"`
	// Waiting has at most so many waiting jobs, the first in the queue; 0: all.
	Waiting int `query:"waiting" in:"0-9223372036854775807" wrong:"%q is not a number of waiting jobs: use 0 for all of them"`
	// Names has of each job only the id and, of a task, which it is: a tenth of the work.
	Names bool `query:"names"`
	// Recent also has how many of the caller's jobs ended within the last hour.
	Recent bool `query:"recent"`

	// Form is FormIDs or FormOwners: instead of JSON a line for each job. For has in them only the jobs to which that
	// can be done, in the order in which it is best done.
	Form string          `query:"form"`
	For  job.CommandKind `query:"for"`
}

// What a listing is asked for.
const (
	WithReasons = "1"
	ReasonCodes = "brief"

	FormIDs    = "ids"    // what each job is called: its number, or as a task "7_3"
	FormOwners = "owners" // and the uid of its owner
)

// JobQuery is what is asked of a job besides what Show always has.
type JobQuery struct {
	Results bool `query:"results"` // of an array, what became of its tasks
	// Why has of a waiting job what is before it in the queue and, for those who may change it, what would make it
	// start sooner.
	Why bool `query:"why"`
	// Printed has journald write down what the job has printed; JobReply.Printed is that all of it is in the journal.
	Printed bool `query:"printed"`
}

// WaitQuery is how long a wait for a job is to be answered at the latest.
type WaitQuery struct {
	Seconds *int `query:"timeout_seconds" in:"0-600" wrong:"%q is not a time to wait: use 0 to 600 seconds"`
}

// PlanQuery is how far a plan is to go: a minute to 7 days; 0 is a day.
type PlanQuery struct {
	Seconds int `query:"horizon_seconds" in:"60-604800" wrong:"%q is not how far ahead to plan: use 60 to 604800 seconds"`
}

// MetricsQuery names a format of package metrics; "" is OpenMetrics.
type MetricsQuery struct {
	Format string `query:"format"`
}

// UsageQuery is about a user, "" who asks. The zone is as in ReportQuery.
type UsageQuery struct {
	User string `query:"user"`
	Zone string `query:"zone"`
}

// List returns the jobs that match, and the GPUs.
func List(ctx context.Context, e Engine, q ListQuery) (out ListReply, err error) {
	return out, e.Get(ctx, RouteList, "", q, &out)
}

// IDs returns what the jobs that match are called, a line each. That is a tenth of the work of List.
func IDs(ctx context.Context, e Engine, q ListQuery) (lines []byte, err error) {
	q.Form, q.Names = FormIDs, false
	q.Reasons, q.Recent = "", false
	return lines, e.Get(ctx, RouteList, "", q, &lines)
}

// Takes returns the jobs of a listing that a command can be done to, in the order in which it is best
// done, and of how many users they are.
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

// Show returns all of one job, and what else the query asks; Private only for those who may see it.
func Show(ctx context.Context, e Engine, id string, q JobQuery) (out JobReply, err error) {
	return out, e.Get(ctx, RouteShow, id, q, &out)
}

// Wait blocks until the job has ended. With a timeout above 0 it gives up after that with CodeWaitTimeout.
func Wait(ctx context.Context, e Engine, id string, timeout time.Duration) (out JobReply, err error) {
	q, limited, end := WaitQuery{new(int(longPoll / time.Second))}, ctx, time.Now().Add(timeout)
	if timeout > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithDeadline(ctx, end)
		defer cancel()
	}
	err = e.Get(limited, RouteWait, id, q, &out)
	// The connection can meet its deadline a moment before the context does.
	over := timeout > 0 && (limited.Err() != nil || !time.Now().Before(end))
	if err != nil && over && ctx.Err() == nil {
		return out, &Error{
			Code: CodeWaitTimeout, Message: fmt.Sprintf("job %s has not ended after %s", id, timeout),
			Hint: fmt.Sprintf("see 'gpusched show %s'", id),
		}
	}
	return out, err
}

// Status returns the daemon at a glance.
func Status(ctx context.Context, e Engine) (out StatusReply, err error) {
	return out, e.Get(ctx, RouteStatus, "", nil, &out)
}

// Health returns what the daemon checked.
func Health(ctx context.Context, e Engine) (out HealthReply, err error) {
	return out, e.Get(ctx, RouteHealth, "", nil, &out)
}

// Version names the running daemon.
func Version(ctx context.Context, e Engine) (out VersionReply, err error) {
	return out, e.Get(ctx, RouteVersion, "", nil, &out)
}

// Metrics returns everything that is measured, in a format of package metrics.
func Metrics(ctx context.Context, e Engine, format string) (page []byte, err error) {
	return page, e.Get(ctx, RouteMetrics, "", MetricsQuery{format}, &page)
}

// GPUs lists the GPUs.
func GPUs(ctx context.Context, e Engine) (out GPUsReply, err error) {
	return out, e.Get(ctx, RouteGPUs, "", nil, &out)
}

// Reservations lists those that have not ended.
func Reservations(ctx context.Context, e Engine) (out ReservationsReply, err error) {
	return out, e.Get(ctx, RouteReservations, "", nil, &out)
}

// Plan asks what becomes of the GPUs within a time, of a minute to 7 days; 0 is a day.
func Plan(ctx context.Context, e Engine, within time.Duration) (out PlanReply, err error) {
	return out, e.Get(ctx, RoutePlan, "", PlanQuery{int(within / time.Second)}, &out)
}

// Report returns what jobs took of the machine.
func Report(ctx context.Context, e Engine, q ReportQuery) (out ReportReply, err error) {
	return out, e.Get(ctx, RouteReport, "", q, &out)
}

// Usage returns where a user stands.
func Usage(ctx context.Context, e Engine, q UsageQuery) (out UsageReply, err error) {
	return out, e.Get(ctx, RouteUsage, "", q, &out)
}

// History returns the jobs that have ended and match, or the first of them: what follows is asked for with After.
func History(ctx context.Context, e Engine, q HistoryQuery) (out HistoryReply, err error) {
	return out, e.Get(ctx, RouteHistory, "", q, &out)
}

// EachPast calls f for every job that has ended and matches, in the order of the query,
// asking for as many answers as that takes. It stops at the first error.
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

// ActOnJob does something to a job. The body is what the route is sent, or nil.
func ActOnJob(ctx context.Context, e Engine, r *Route, id string, body any) (out JobReply, err error) {
	return out, e.Do(ctx, r, id, body, &out)
}

// ActOnGPU does something to a GPU. The body is a PauseRequest, or nil.
func ActOnGPU(ctx context.Context, e Engine, r *Route, index int, body any) (out GPUsReply, err error) {
	return out, e.Do(ctx, r, strconv.Itoa(index), body, &out)
}
