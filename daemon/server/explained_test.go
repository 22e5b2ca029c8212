package server

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gpusched/gpusched/daemon/config"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/server/servertest"
)

// explainedQueue returns the backend of the function queue, with explanations for alice's waiting
// job 2.
func explainedQueue() *servertest.Backend {
	b, gpus := queue(), 500
	b.Explained = map[job.ID]job.Explained{2: {
		Ahead: []job.Ahead{{Job: 7, Called: "7", User: "bob", Name: "b", Cause: job.AheadOwed}}, More: 3,
		Sooner: []job.Sooner{{Change: job.Change{GPUMilli: &gpus}, Now: true}}, Tried: 4,
	}}
	return b
}

// Everybody can see what is ahead of a job. Only users who may change the job can
// see what would start it sooner.
func TestExplained(t *testing.T) {
	for who, test := range map[string]struct {
		peer   peer
		sooner bool
	}{"its owner": {alice, true}, "an administrator": {operator, true}, "a stranger": {bob, false}} {
		status, body := ask(testServer(explainedQueue(), nil), test.peer, "GET", "/v1/jobs/2?why=1", "")
		if status != http.StatusOK || !strings.Contains(body, `"user":"bob"`) || !strings.Contains(body, `"ahead_omitted":3`) {
			t.Errorf("%s: %d %s", who, status, body)
		}
		if got := strings.Contains(body, `"sooner":[{"options":["--gpus 0.5"]`) && strings.Contains(body, `"sooner_tried":4`); got != test.sooner {
			t.Errorf("%s: %s", who, body)
		}
	}
	for _, path := range []string{"/v1/jobs/2", "/v1/jobs/1?why=1"} {
		if _, body := ask(testServer(explainedQueue(), nil), alice, "GET", path, ""); strings.Contains(body, `"queue"`) {
			t.Errorf("%s: %s", path, body)
		}
	}
}

// A user whose trials take long is throttled. Other users are not.
func TestTrialsAreThrottled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := explainedQueue()
		e := b.Explained[2]
		e.Took = 100 * time.Millisecond
		b.Explained[2] = e
		s := limitedServer(b, func(l *config.Limits) { l.Requests, l.Burst = 100, 100 })
		took := func(p peer) time.Duration {
			start := time.Now()
			for range 20 {
				if status, body := ask(s, p, "GET", "/v1/jobs/2?why=1", ""); status != 200 {
					t.Fatalf("%d %s", status, body)
				}
			}
			return time.Since(start)
		}
		// 20 trials of 0.1 s at a fifth of a CPU take 10 s, less the part that the burst allows at
		// once
		if d := took(alice); d < 8*time.Second || d > 10*time.Second {
			t.Errorf("alice's took %v", d)
		}
		if d := took(root); d > 0 {
			t.Errorf("root's took %v", d)
		}
		start := time.Now()
		if ask(s, bob, "GET", "/v1/jobs/2", ""); time.Since(start) > 0 {
			t.Errorf("bob's took %v", time.Since(start))
		}
	})
}
