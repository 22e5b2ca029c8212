package api

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/gpusched/gpusched/daemon/job"
)

// Many does something to many jobs in one request, and calls told with what became of some after the other.
// What was told is done, whatever the error is. A daemon that has no place for it, and so has done nothing,
// is asked again.
func Many(ctx context.Context, e Engine, r ManyRequest, told func(ManyPart)) error {
	for line, err := range e.Stream(ctx, RouteMany, r) {
		var part ManyPart
		if err == nil {
			if err = json.Unmarshal(line, &part); err != nil {
				return notExpected(err)
			}
		}
		if err != nil {
			return leftOpen(err)
		}
		told(part)
		switch {
		case part.Error != nil:
			return part.Error
		case part.Done:
			return nil
		}
	}
	return leftOpen(&Error{Code: CodeUnreachable, Message: "the scheduler closed the connection before all was done", sent: true})
}

// leftOpen says of an answer that was cut off what nobody knows.
func leftOpen(err error) error {
	var e *Error
	if errors.As(err, &e) && e.Code == CodeUnreachable && e.Hint == "" {
		e.Hint = "jobs that are not named above may or may not be done: see 'gpusched list'"
	}
	return err
}

// One does to a job what the request has done to its own ones.
func One(ctx context.Context, e Engine, id string, r ManyRequest) (JobReply, error) {
	switch r.Command {
	case job.CommandCancel, job.CommandSignal:
		return ActOnJob(ctx, e, RouteCancel, id, CancelRequest{Signal: r.Signal, Main: r.Main, Grace: r.Grace})
	case job.CommandUpdate:
		return ActOnJob(ctx, e, RouteUpdate, id, *r.Change)
	}
	plain := []*Route{RouteHold, RouteRelease, RouteRequeue, RouteSuspend, RouteResume}
	i := slices.IndexFunc(plain, func(x *Route) bool { return x.Name == string(r.Command) })
	return ActOnJob(ctx, e, plain[i], id, nil)
}
