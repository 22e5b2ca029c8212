package cli

import (
	"context"
	"errors"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// WaitError marks a failure of gpusched itself, so that the exit status is 125. It leaves timeouts,
// Ctrl-C and errors about the named jobs as they are.
func WaitError(ctx context.Context, err error) error {
	var e *api.Error
	if errors.As(context.Cause(ctx), &e) {
		return e
	}
	if errors.As(err, &e) && e.Code != api.CodeNotFound && e.Code != api.CodeUsage {
		return &Failure{e}
	}
	return err
}

// Failure is an error of gpusched itself, in a command that otherwise returns a job's exit status.
type Failure struct{ Cause *api.Error }

func (f *Failure) Error() string { return f.Cause.Error() }

// StatusFailure is the exit status of a Failure.
const StatusFailure = 125

func (a *App) ResultOf(j api.Job) string {
	if j.Result != nil {
		return j.Cause(a.Out.Reader())
	}
	if j.State == job.Queued {
		return "does not go on" + a.Because(j)
	}
	return string(j.State)
}

// StatusOf returns the exit status of the first job whose exit status is not 0.
func StatusOf(jobs []api.Job) error {
	for _, j := range jobs {
		if j.Result != nil && j.Result.Code != 0 {
			return ExitStatus(j.Result.Code)
		}
		if j.Result == nil && j.State == job.Queued {
			return ExitStatus(1) // too many tasks have failed, so no more of them start
		}
		if j.Result == nil && j.State != job.Completed {
			return ExitStatus(StatusFailure)
		}
	}
	return nil
}
