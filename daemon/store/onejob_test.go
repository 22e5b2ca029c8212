package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/gpusched/gpusched/daemon/job"
)

// errNotFound is the error that Job returns for a missing job.
var errNotFound = errors.New("no such job in the store")

// Job returns one job, live or ended, with its current attempt.
func (s *Store) Job(ctx context.Context, id job.ID) (job.Job, error) {
	list, err := jobsFrom(ctx, s.read, "WHERE j.id = ?", int64(id))
	if err == nil && len(list) == 0 {
		err = errNotFound
	}
	if err != nil {
		return job.Job{}, fmt.Errorf("read job %d: %w", id, s.readError(err))
	}
	return list[0], nil
}
