package cli

import (
	"errors"
	"slices"
	"sync"

	"github.com/gpusched/gpusched/daemon/api"
)

// ActOn calls a function for every job, with atOnce calls at a time. It prints each refusal and
// goes on; it returns the exit status of the first refusal. It stops if the scheduler can't be
// reached.
func (a *App) ActOn(ids []string, atOnce int, do func(id string) (api.JobReply, error)) (jobs []api.Job, status error) {
	for some := range slices.Chunk(ids, atOnce) {
		replies, errs := make([]api.JobReply, len(some)), make([]error, len(some))
		var all sync.WaitGroup
		for i, id := range some {
			all.Go(func() { replies[i], errs[i] = do(id) })
		}
		all.Wait()
		for i, err := range errs {
			var e *api.Error
			switch {
			case err == nil:
				jobs = append(jobs, replies[i].Job)
			case !errors.As(err, &e) || e.Code == api.CodeUnreachable:
				return jobs, err
			default:
				a.Complain(e.Text(a.Err.Reader()))
				if status == nil {
					status = ExitStatus(e.Code.ExitStatus())
				}
			}
		}
	}
	return jobs, status
}
