package daemon

import (
	"context"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/words"
)

// deliverTime limits the delivery of one message.
const deliverTime = 3 * time.Minute

// deliver sends a message about a job. The text comes from the record of the job.
func (x *executor) deliver(ctx context.Context, n job.Notification) core.Event {
	ctx, cancel := x.host.Timeout(ctx, deliverTime)
	defer cancel()
	why, again := x.trySend(ctx, n)
	fields := []any{"job", n.Job, "uid", n.UID, "event", n.Event, "way", n.Way}
	switch failed := append(fields, "again", again, "why", words.Say(why)); {
	case why.IsZero():
		x.log.Info("message sent", fields...)
	case again:
		x.log.Warn("message not sent", failed...)
	default: // if there is no further try, logRecord logs a warning
		x.log.Info("message not sent", failed...)
	}
	return core.Delivered{Job: n.Job, Event: n.Event, Which: n.Which, Sent: why.IsZero(), Again: again, Why: why}
}

func (x *executor) trySend(ctx context.Context, n job.Notification) (why job.Message, again bool) {
	if x.opt.Deliver == nil {
		return job.Say("detail/notify-nobody"), false
	}
	jobs, err := x.opt.Store.Jobs(ctx, []job.ID{n.Job})
	if err != nil {
		return job.Text(err.Error()), true
	}
	if len(jobs) == 0 || n.Which >= len(jobs[0].Request.Notify) {
		return job.Say("detail/notify-forgotten"), false
	}
	j := &jobs[0]
	payload, err := x.opt.Store.Payload(ctx, j.PayloadID())
	if err != nil {
		return job.Text(err.Error()), true
	}
	to := ""
	if n.Which < len(payload.NotifyTo) {
		to = payload.NotifyTo[n.Which]
	}
	switch heir, err := x.directory.newOwner(j, nameTime); {
	case err != nil:
		return job.Text(err.Error()), true
	case heir.User != "" && !isNamed(j, heir):
		return job.Say("detail/notify-barred", job.Say("detail/heir", *j.NameOf(heir.UID), heir.UID, heir.User)), false
	}
	if why := x.directory.whyBarred(j); why != "" {
		return job.Say("detail/notify-barred", why), false
	}
	j.Owner.GID = x.directory.groupNow(j)
	return x.opt.Deliver(ctx, n, j, to)
}
