package server

import (
	"cmp"
	"context"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// Outcome is the outcome of an audited request.
type Outcome string

// The outcomes.
const (
	Done    Outcome = "done"
	Refused Outcome = "refused" // the user lacks the right
	Failed  Outcome = "failed"  // it failed for another reason
	Unknown Outcome = "unknown" // the request was begun, and the client left before its end
)

// AuditEvent is one line of the audit log. Such a line is about a request that needed an
// administrator's right, or that was refused because the user lacked a right.
type AuditEvent struct {
	UID     int
	User    string
	Action  string // a Route.Name, such as "cancel"
	Target  Target
	Outcome Outcome
	Code    string // the error's code if it failed
	Asked   []any  // arguments of the request: names and values in turn
}

// Target is what a command acts on, such as job 7_3 or GPU 0. If Name is empty, the command acts on
// everything of that Kind. If Kind is empty, the name of the action says what the target is.
type Target struct{ Kind, Name string }

func (t Target) String() string { return strings.TrimSuffix(t.Kind+" "+t.Name, " ") }

// Audit writes a line of the audit log. The fields in upper case are not in the line's text, but
// the journal can be searched for them. Refusals above the log's rate limit are only counted
// (invariant 7). All other lines are always written.
func (s *Server) Audit(d AuditEvent) {
	args := []any{"uid", d.UID, "user", d.User, "action", d.Action}
	if d.Target != (Target{}) {
		args = append(args, "target", d.Target)
	}
	args = append(args, "outcome", string(d.Outcome))
	if d.Code != "" {
		args = append(args, "code", d.Code)
	}
	args = append(args, d.Asked...)
	args = append(args, "GPUSCHED_AUDIT", 1)
	if n, err := strconv.ParseUint(d.Target.Name, 10, 63); err == nil && d.Target.Kind != "reservation" {
		args = append(args, "GPUSCHED_"+strings.ToUpper(d.Target.Kind), n)
	}
	level := slog.LevelInfo
	if d.Outcome == Refused {
		if level = slog.LevelWarn; !s.clientLog.allow(s.accounts.person(d.UID)) {
			return
		}
	}
	entry := slog.NewRecord(time.Now(), level, "audit", 0)
	entry.Add(args...)
	_ = s.log.Handler().Handle(context.Background(), entry) // written at any log level
}

// audit logs a request that was refused, and a request that needed the right of an administrator.
// The line never has a command, environment or directory.
func (s *Server) audit(rt route, r *request, reply any, err error) {
	d := AuditEvent{
		UID: r.who.UID, User: r.who.User, Action: rt.Name, Target: auditTarget(rt, r, reply), Outcome: Done,
		Asked: auditArgs(r.asked),
	}
	if err != nil {
		e := asError(err)
		d.Outcome, d.Code = Failed, string(e.Code)
		if e.Code == api.CodeForbidden {
			d.Outcome, d.Code = Refused, ""
		}
	}
	if r.asAdmin || d.Outcome == Refused {
		s.Audit(d)
	}
}

// auditArgs returns the names and values in the body of a request. It returns nothing for a
// submission, because the daemon logs the public part of new jobs.
func auditArgs(body any) (args []any) {
	add := func(name, value string) {
		if value != "" {
			args = append(args, name, value)
		}
	}
	switch in := body.(type) {
	case *job.Change:
		for _, a := range in.Asked() {
			add(a.Name, a.Value)
		}
	case *api.ManyRequest:
		if in.Change != nil {
			args = auditArgs(in.Change)
		}
		if in.Signal != 0 {
			add("signal", job.AimedSignal(in.Signal, in.Main))
		}
		if in.Grace != nil {
			add("grace", in.Grace.String())
		}
	case *api.LogLevelRequest:
		add("level", cmp.Or(in.Level, "as the settings say"))
	case *api.CancelRequest:
		if in.Signal != 0 {
			add("signal", job.AimedSignal(in.Signal, in.Main))
		}
		if in.Grace != nil {
			add("grace", in.Grace.String())
		}
		if in.Unawaited {
			add("unawaited", "yes")
		}
	case *api.PauseRequest:
		add("reason", in.Reason)
		add("until", formatTime(in.Until))
	case *api.DrainRequest:
		args = auditArgs(&in.PauseRequest)
		if in.Reboot {
			add("then", "reboot")
			add("latest", formatTime(in.By))
		}
		if in.Force {
			add("force", "yes")
		}
	case *api.ReserveRequest:
		add("gpus", job.FormatGPUList(in.GPUs))
		add("from", formatTime(in.From))
		add("to", formatTime(in.To))
		add("users", strings.Join(in.Users, ","))
		add("groups", strings.Join(in.Groups, ","))
		add("reason", in.Reason)
	}
	return args
}

// formatTime formats a time for the log. It returns "" for the zero time.
func formatTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// maxTargetBytes limits the part of a request's path that is written into the log. Job names such
// as 7_3 are far shorter.
const maxTargetBytes = 32

// auditTarget returns the target that the request's path names.
func auditTarget(rt route, r *request, reply any) Target {
	if made, ok := reply.(api.ReservationsReply); ok && made.Made != 0 {
		return Target{"reservation", strconv.FormatInt(made.Made, 10)}
	}
	name := cmp.Or(r.PathValue("id"), r.PathValue("index"))
	if name == "" {
		return Target{}
	}
	if len(name) > maxTargetBytes {
		name = name[:maxTargetBytes] + "…"
	}
	switch {
	case strings.HasPrefix(rt.Path, "/v1/gpus/"):
		return Target{"GPU", name}
	case strings.HasPrefix(rt.Path, "/v1/reservations/"):
		return Target{"reservation", name}
	}
	return Target{"job", name}
}
