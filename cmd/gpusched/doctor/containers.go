package doctor

import (
	"context"
	"errors"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/jobenv"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// checkEngines reports what is missing for images in jobs, for each engine that the site allows. An
// engine that is not installed is no fault.
func checkEngines(ctx context.Context, a *cli.App) (checks []job.Check) {
	usage, err := api.Usage(ctx, a.Daemon(), api.UsageQuery{})
	if err != nil {
		return nil // the check of the socket has already reported this
	}
	for _, s := range jobenv.EngineStates(ctx, a, usage.Engines) {
		c := job.Check{Name: string(s.Engine), Health: job.Healthy, Detail: s.Detail}
		var e *api.Error
		switch {
		case errors.As(s.Fault, &e):
			c.Health, c.Detail, c.Next = job.Limited, e.Message, e.Hint
		case s.Fault != nil:
			c.Health, c.Detail = job.Limited, s.Fault.Error()
		}
		checks = append(checks, c)
	}
	return checks
}
