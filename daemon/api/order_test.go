package api

import (
	"slices"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

func TestInListOrder(t *testing.T) {
	at := func(minute int) time.Time { return time.Date(2026, 3, 1, 12, minute, 0, 0, time.UTC) }
	list := []Job{
		{ID: 1, State: job.Completed, EndedAt: at(1)}, {ID: 2, State: job.Queued}, {ID: 3, State: job.Running, StartedAt: at(9)},
		{ID: 4, State: job.Failed, EndedAt: at(5)}, {ID: 5, State: job.Queued}, {ID: 6, State: job.Ending, StartedAt: at(2)},
	}
	ids := func(list []Job) (ids []job.ID) {
		for _, j := range list {
			ids = append(ids, j.ID)
		}
		return ids
	}
	asItComes := slices.Clone(list)
	InListOrder(asItComes, nil)
	if got := ids(asItComes); !slices.Equal(got, []job.ID{3, 6, 2, 5, 4, 1}) {
		t.Errorf("as it comes: %v", got)
	}
	InListOrder(list, func(x, y *Job) int { return x.StartedAt.Compare(y.StartedAt) })
	if got := ids(list); !slices.Equal(got, []job.ID{6, 3, 2, 5, 4, 1}) {
		t.Errorf("by start: %v", got)
	}
}
