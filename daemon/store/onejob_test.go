package store

import (
	"context"
	"fmt"

	"github.com/gpusched/gpusched/daemon/job"
)

// Job returns one job, live or ended, with its current attempt. A job that is
// not there is ErrNotFound.
func (s *Store) Job(ctx context.Context, id job.ID) (job.Job, error) {
	list, err := s.jobs(ctx, "WHERE j.id = ?", int64(id))
	if err == nil && len(list) == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return job.Job{}, fmt.Errorf("read job %d: %w", id, err)
	}
	return list[0], nil
}
