package act

import (
	"context"
	"errors"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// SubmitCapped submits a job with its requested priority. If the user has no right to that
// priority, it submits the job with a lower priority, its last argument.
func SubmitCapped(
	ctx context.Context, a *cli.App, by api.Engine, req api.SubmitRequest, low job.Priority,
) (api.SubmitReply, error) {
	reply, err := by.Submit(ctx, req)
	var refused *api.Error
	if !req.Priority.Raised() || !errors.As(err, &refused) || refused.Code != api.CodeForbidden {
		return reply, err
	}
	a.NoteOnce("only an administrator may raise a priority above normal, so " + req.Priority.String() + " counts as " + low.String())
	req.Priority = low
	return by.Submit(ctx, req)
}
