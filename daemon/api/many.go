package api

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/gpusched/gpusched/daemon/job"
)

// Many applies a command to many jobs in one request. It passes outcomes to the function report as
// they arrive. These outcomes are valid even if Many returns an error. If the daemon has no room
// for the request, the daemon has done nothing, and Many repeats the request.
func Many(ctx context.Context, e Engine, r ManyRequest, report func(ManyPart)) error {
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
		report(part)
		switch {
		case part.Error != nil:
			return part.Error
		case part.Done:
			return nil
		}
	}
	return leftOpen(&Error{Code: CodeUnreachable, Message: "the scheduler closed the connection before all was done", sent: true})
}

// leftOpen adds a hint to the error of an answer that was cut off. The hint says which outcomes are
// unknown.
func leftOpen(err error) error {
	var e *Error
	if errors.As(err, &e) && e.Code == CodeUnreachable && e.Hint == "" {
		e.Hint = "the request may have reached some of the jobs that are not named above: see 'gpusched list'"
	}
	return err
}

// One applies the command of r to one job. It ignores the jobs in r.
func One(ctx context.Context, e Engine, id string, r ManyRequest) (JobReply, error) {
	switch r.Command {
	case job.CommandCancel, job.CommandSignal:
		return ActOnJob(ctx, e, RouteCancel, id, CancelRequest{Signal: r.Signal, Main: r.Main, Grace: r.Grace})
	case job.CommandUpdate:
		return ActOnJob(ctx, e, RouteUpdate, id, *r.Change)
	}
	plain := []*Route{RouteHold, RouteRelease, RouteRequeue, RouteSuspend, RouteResume, RoutePark, RouteUnpark}
	i := slices.IndexFunc(plain, func(x *Route) bool { return x.Name == string(r.Command) })
	return ActOnJob(ctx, e, plain[i], id, nil)
}
