package daemon

import (
	"cmp"
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/words"
	"github.com/gpusched/gpusched/gpu"
)

// logRecord logs a change that is on disk. Each change is logged once.
func logRecord(log *slog.Logger, r job.Record) {
	if g := r.GPU; g != nil {
		if f := g.Fault; gpu.Recovery(f.Recovery).Sick() {
			log.Error("gpu is out of service after an error, see gpusched health", "gpu_uuid", g.UUID,
				"error", words.Say(f.What), "job", f.Job, "needs", gpu.Recovery(f.Recovery).Needs())
		}
		if l := g.Fault.Left; !l.What.IsZero() {
			log.Error("gpu is out of service after a job left something on it, see gpusched health", "gpu_uuid", g.UUID, "left", words.Say(l.What), "job", l.Job, "needs", gpu.RecoverReset.Needs())
		}
		logControl(log, g)
		return
	}
	if v := r.Reservation; v != nil {
		log.Info("reservation made", reservationFields(v)...)
		return
	}
	if r.Unreserve != 0 {
		log.Info("reservation ended", "reservation", r.Unreserve)
		return
	}
	if l := r.Left; l != nil {
		log.Warn("a job left something behind", "job", l.Job, "attempt", l.Attempt, "left", words.Say(l.What))
		return
	}
	if n := r.Notification; n != nil && !n.Closed.IsZero() && !n.Sent() {
		log.Warn("message given up", "job", n.Job, "uid", n.UID, "event", n.Event, "way", n.Way, "tries", n.Tries, "why", words.Say(n.Why))
	}
	if r.Job == nil {
		return
	}
	if r.Quiet {
		return // only an estimate or a figure changed
	}
	what, fields := jobLine(r)
	log.Info(what, fields...)
	// An update of a waiting job may also change the job's state. That change gets a second line.
	if r.Updated != nil && r.Job.State != job.Queued && r.Job.State != job.Running {
		log.Info("job "+string(r.Job.State), jobFields(r.Job)...)
	}
}

// brokenGPUs are the UUIDs of the GPUs whose last logged state takes no jobs until somebody repairs
// them. The driver breaks and repairs GPUs, so no record says it.
type brokenGPUs map[string]bool

func (b brokenGPUs) log(log *slog.Logger, news []job.Event) {
	for i := range news {
		e := &news[i]
		if e.Kind != job.EventGPU || e.GPU.State.Broken() == b[e.GPU.UUID] {
			continue
		}
		b[e.GPU.UUID] = e.GPU.State.Broken()
		level, state := slog.LevelError, string(e.GPU.State)
		if !b[e.GPU.UUID] {
			level, state = slog.LevelInfo, cmp.Or(state, "in service")
		}
		fields := []any{"gpu", e.GPU.Index, "gpu_uuid", e.GPU.UUID}
		if why := words.Say(e.Why); why != "" {
			fields = append(fields, "why", why)
		}
		log.Log(context.Background(), level, "gpu is "+state, fields...)
	}
}

// jobLine returns the log line about a job's change. The line of a new job has the request, and the
// line of an update has the old and new values. Nothing in the line is private.
func jobLine(r job.Record) (what string, fields []any) {
	what, fields = "job "+string(r.Job.State), jobFields(r.Job)
	switch {
	case r.Payload != nil: // only the record of a new job has a payload
		for _, a := range job.Asked(&r.Job.Label, &r.Job.Request) {
			fields = append(fields, a.Name, shorten(a.Value))
		}
	case r.Updated != nil:
		what = "job updated"
		fields = append(fields, "by", r.Updated.By)
		for _, e := range r.Updated.Edits {
			fields = append(fields, e.Name, shorten(e.Now), e.Name+"-before", shorten(e.Before))
		}
	}
	return what, fields
}

// mostLogged is the maximum length of a value in a log line, in bytes. It is small because a user
// can change a job many times per second.
const mostLogged = 200

// shorten shortens a value for a log line.
func shorten(value string) string {
	if len(value) > mostLogged {
		return strings.ToValidUTF8(value[:mostLogged], "") + "…"
	}
	return cmp.Or(value, "none")
}

// logControl logs a decision about one GPU, or about all jobs.
func logControl(log *slog.Logger, g *job.GPUControl) {
	what, fields := "gpu control changed", []any{"gpu_uuid", g.UUID, "paused", g.Paused}
	if g.UUID == job.EveryGPU {
		what, fields = "no new job starts: drained", nil
		switch {
		case !g.Paused:
			what = "jobs may start again"
		case g.Reboot != nil:
			what = "drained for a reboot"
			fields = append(fields, "latest", inUTC(g.Reboot.By), "force", g.Reboot.Force, "due", g.Reboot.Due)
		}
	} else if g.Drain {
		fields = append(fields, "drain", true)
	}
	fields = append(fields, "by", g.By)
	if g.Reason != "" {
		fields = append(fields, "reason", g.Reason)
	}
	if !g.Until.IsZero() {
		fields = append(fields, "until", inUTC(g.Until))
	}
	log.Info(what, fields...)
}

func reservationFields(v *job.Reservation) []any {
	gpus := job.FormatGPUList(job.Indexes(v.GPUs))
	fields := []any{"reservation", v.ID, "by", v.By, "gpus", gpus, "from", inUTC(v.From), "to", inUTC(v.To)}
	whom := v.For()
	if len(whom.Users) > 0 {
		fields = append(fields, "users", strings.Join(whom.Users, ","))
	}
	if len(whom.Groups) > 0 {
		fields = append(fields, "groups", strings.Join(whom.Groups, ","))
	}
	if v.Reason != "" {
		fields = append(fields, "reason", v.Reason)
	}
	return fields
}

func inUTC(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// jobFields returns the fields of a log line about a job:
// its identity, where it runs or ran, and the cause of its state.
func jobFields(j *job.Job) []any {
	fields := []any{"job", j.ID, "state", j.State, "uid", j.Owner.UID, "user", j.Owner.User}
	if j.Task != nil {
		fields = append(fields, "task", j.Task.String())
	}
	a := j.Attempt
	if a != nil {
		fields = append(fields, "attempt", a.Number, "gpu", job.FormatGPUList(j.GPUIndexes()))
	}
	switch {
	case j.Result != nil:
		fields = append(fields, "result", words.Result(j.Result))
		if j.Result.By != "" {
			fields = append(fields, "by", j.Result.By)
		}
	case j.State == job.Queued && a != nil && a.Result != nil: // the job is queued again
		fields = append(fields, "result", words.Result(a.Result))
	case j.Stop != "":
		fields = append(fields, "stop", j.Stop)
		if j.StopBy != "" {
			fields = append(fields, "by", j.StopBy)
		}
	case j.TooManyFailed():
		fields = append(fields, "why", string(job.ReasonFailures), "failed", j.Tasks.Failures)
	}
	if j.Held != "" && j.State == job.Queued {
		fields = append(fields, "held_by", j.Held)
	}
	switch {
	case !j.IsSuspended() || !j.State.Live():
	case j.Park != job.NotParked:
		fields = append(fields, "park", j.Park, "parked_by", j.SuspendedBy)
		if j.ParkedFor != 0 {
			fields = append(fields, "parked_for", j.ParkedFor)
		}
	default:
		fields = append(fields, "suspended_by", j.SuspendedBy)
	}
	if j.Left != "" {
		fields = append(fields, "left", j.Left)
	}
	if j.GPUError != nil {
		fields = append(fields, "gpu_error", words.GPUError(*j.GPUError))
	}
	return fields
}
