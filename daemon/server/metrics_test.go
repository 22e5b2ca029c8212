package server

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/metrics"
)

// A page is text in the requested format. It has no data about a single job.
func TestMetricsArePages(t *testing.T) {
	b := queueWithArray()
	s := testServer(b, nil)
	s.opt.Process = func() metrics.Process { return metrics.Process{OpenFDs: 12} }
	ask(s, bob, "GET", "/v1/status", "")
	ask(s, bob, "POST", "/v1/gpus/0/pause", "{}")
	ask(s, bob, "GET", "/v1/nothing", "")
	for path, kind := range map[string]string{
		"/v1/metrics":                    "application/openmetrics-text; version=1.0.0; charset=utf-8",
		"/v1/metrics?format=openmetrics": "application/openmetrics-text; version=1.0.0; charset=utf-8",
		"/v1/metrics?format=prometheus":  "text/plain; version=0.0.4; charset=utf-8",
	} {
		w := reply(s, bob, "GET", path, "")
		page := w.Body.String()
		if w.Code != http.StatusOK || w.Header().Get("Content-Type") != kind {
			t.Fatalf("%s: %d %v", path, w.Code, w.Header())
		}
		for _, line := range []string{
			"gpusched_up 1", `gpusched_health{part="gpus",state="healthy"} 1`, `gpusched_requests_total{action="status",code="ok"} 1`,
			`gpusched_requests_total{action="pause",code="forbidden"} 1`, `gpusched_requests_total{action="unknown",code="usage"} 1`,
			"gpusched_process_open_fds 12", `gpusched_build_info{version="1.2.3",`, `gpusched_gpu_jobs{gpu="0",uuid="GPU-a"} `,
		} {
			if !strings.Contains(page, "\n"+line) {
				t.Errorf("%s lacks %q:\n%s", path, line, page)
			}
		}
		for _, private := range []string{"secret", "train", "sweep", "alice", "/home"} {
			if strings.Contains(page, private) {
				t.Errorf("%s shows %q:\n%s", path, private, page)
			}
		}
	}
	status, body := ask(s, bob, "GET", "/v1/metrics?format=json", "")
	if e := refusal(t, body); status != http.StatusBadRequest || e.Code != api.CodeUsage || !strings.Contains(e.Message, "openmetrics") {
		t.Errorf("an unknown format: %d %+v", status, e)
	}
}

// If the scheduler can't start, the page still shows the scheduler's health.
func TestMetricsOfASchedulerThatIsDown(t *testing.T) {
	b := queue()
	b.Fail = job.Refuse("unavailable/broken", errors.New("no disk"))
	b.Checks = []job.Check{{Name: "scheduler", Health: job.Failing}}
	_, page := ask(testServer(b, nil), bob, "GET", "/v1/metrics", "")
	for _, line := range []string{"\ngpusched_up 0\n", `gpusched_health{part="scheduler",state="failing"} 1`} {
		if !strings.Contains(page, line) {
			t.Errorf("the page lacks %q:\n%s", line, page)
		}
	}
	if strings.Contains(page, "gpusched_gpu_") {
		t.Errorf("the page tells of GPUs:\n%s", page)
	}
}

// hungBackend is a backend whose loop does not answer.
type hungBackend struct{ Backend }

func (hungBackend) Measure(ctx context.Context, _ *metrics.Page, _ int) error {
	<-ctx.Done()
	return ctx.Err()
}

// A scheduler that hangs does not delay the page.
func TestMetricsOfASchedulerThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		_, page := ask(testServer(hungBackend{queue()}, nil), bob, "GET", "/v1/metrics", "")
		if !strings.Contains(page, "\ngpusched_up 0\n") {
			t.Errorf("the page is\n%s", page)
		}
		if took := time.Since(began); took != measureTime {
			t.Errorf("it took %s", took)
		}
	})
}
