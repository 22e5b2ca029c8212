package server

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// Jobs that begin after the horizon are not in the plan. A horizon that is out of range is refused.
func TestPlanIsBounded(t *testing.T) {
	b := queue()
	stay := func(id job.ID, kind job.StayKind, from time.Duration) job.Stay {
		return job.Stay{Kind: kind, Job: id, Called: id.String(), User: "alice", Milli: 1000, From: noon.Add(from)}
	}
	b.Ahead = job.Course{At: noon, Until: noon.Add(100 * time.Hour), Waiting: 3, GPUs: []job.GPUCourse{
		{Stays: []job.Stay{stay(11, job.StayRunning, -time.Hour), stay(12, job.StayPlanned, time.Hour), stay(13, job.StayPlanned, 30*time.Hour)}},
		{Index: 1, Stays: []job.Stay{stay(12, job.StayPlanned, time.Hour)}},
	}}
	for query, want := range map[string]string{
		"":                        `"until":"2026-03-02T12:00:00Z"`,
		"?horizon_seconds=3000":   `"planned":0`,
		"?horizon_seconds=7200":   `"planned":1`,
		"?horizon_seconds=604800": `"planned":2`,
	} {
		if status, body := ask(testServer(b, nil), bob, "GET", "/v1/plan"+query, ""); status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%q: %d %s", query, status, body)
		}
	}
	for _, query := range []string{"59", "604801", "-1", "x", "1e3", "99999999999999999999"} {
		status, body := ask(testServer(b, nil), bob, "GET", "/v1/plan?horizon_seconds="+query, "")
		if status != http.StatusBadRequest || !strings.Contains(body, "60 to 604800 seconds") {
			t.Errorf("%q: %d %s", query, status, body)
		}
	}
}
