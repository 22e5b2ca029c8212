package daemon

import (
	"testing"
	"time"

	"github.com/gpusched/gpusched/units"
)

// If the clock was set back after a job was placed, the recorded time of the placement is later
// than the start of the job. The recovered job then gets its start as the time of the placement, so
// that processes that began after the start still count as processes of the job.
func TestRecoveredAfterAClockSetBack(t *testing.T) {
	began := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	status := &units.Status{Started: uint64(began.UnixMicro())}
	for placed, want := range map[time.Time]time.Time{
		began.Add(time.Hour): began, {}: began, began.Add(-time.Second): began.Add(-time.Second),
	} {
		j := recoveredJob(&units.Spec{ID: 7, Attempt: 1, Placed: placed}, status, "run", began.Add(time.Minute))
		if got := j.Attempt.PlacedAt; !got.Equal(want) {
			t.Errorf("placed at %s by its unit: %s", placed, got)
		}
	}
}
