package server

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// answerOf reads the document of a successful answer.
func answerOf[T any](t *testing.T, status int, body string) (r T) {
	t.Helper()
	if err := json.Unmarshal([]byte(body), &r); err != nil || status != 200 {
		t.Fatalf("%d %s (%v)", status, body, err)
	}
	return r
}

func TestGPUsAreWithheldUntilATime(t *testing.T) {
	b := queue()
	s := testServer(b, nil)
	until := time.Now().Add(time.Hour).UTC().Round(0)
	for verb, drain := range map[string]bool{"pause": false, "drain": true} {
		status, body := ask(s, root, "POST", "/v1/gpus/0/"+verb, fmt.Sprintf(`{"reason":"fan","until":%q}`, until.Format(time.RFC3339Nano)))
		if g := answerOf[api.GPUsReply](t, status, body).GPUs[0]; !g.Paused || g.Drain != drain || g.PausedReason != "fan" || g.PausedBy != "root" || !g.PausedUntil.Equal(until) || !g.PausedAt.Equal(noon) {
			t.Errorf("%s: %+v", verb, g)
		}
	}
	status, body := ask(s, root, "POST", "/v1/gpus/0/undrain", "")
	if g := answerOf[api.GPUsReply](t, status, body).GPUs[0]; g.Paused || g.Drain || !g.PausedUntil.IsZero() || g.PausedBy != "" || !g.PausedAt.IsZero() {
		t.Errorf("%+v", g)
	}
	if _, body := ask(s, root, "POST", "/v1/gpus/0/drain", `{"until":"2001-01-01T00:00:00Z"}`); refusal(t, body).Code != api.CodeUsage {
		t.Error(body)
	}
}

func TestSharesAndLinksAreShown(t *testing.T) {
	b := queue()
	b.View.GPUs[0].FreeMilli, b.View.GPUs[0].NUMANode, b.View.GPUs[0].CPUs = 250, 1, "0-3"
	b.View.GPUs[0].Shares = []job.GPUShare{{Job: 1, Called: "7_3", Milli: 750, PromiseBytes: 5}}
	b.View.Links = []job.GPULink{{A: 0, B: 1, Kind: "nvlink", Lanes: 12}}
	status, body := ask(testServer(b, nil), bob, "GET", "/v1/gpus", "")
	r := answerOf[api.GPUsReply](t, status, body)
	g := r.GPUs[0]
	if g.FreeMilli != 250 || g.NUMANode != 1 || g.CPUs != "0-3" || !reflect.DeepEqual(g.Shares, []job.GPUShare{{Job: 1, Called: "7_3", Milli: 750, PromiseBytes: 5}}) ||
		!reflect.DeepEqual(r.Links, []job.GPULink{{A: 0, B: 1, Kind: "nvlink", Lanes: 12}}) {
		t.Errorf("%+v", r)
	}
}
