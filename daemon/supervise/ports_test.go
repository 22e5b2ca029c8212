package supervise

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/gpusched/gpusched/daemon"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/store"
)

// A row whose parent is gone can never be written: the daemon is told so, and does
// not try it for ever.
func TestRecordWithoutItsArray(t *testing.T) {
	s, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "state.db"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	task := job.Job{ID: 2, State: job.Queued, Life: job.Life{Task: &job.Task{Array: 1}}}
	err = stored{s}.Commit(t.Context(), []job.Record{{Job: &task}})
	if !errors.Is(err, daemon.ErrInvalid) || errors.Is(err, daemon.ErrDamaged) {
		t.Errorf("a task without its array: %v", err)
	}
}
