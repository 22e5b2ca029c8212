package server

import (
	"net/http"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// Invariant 5: the server refuses fields and words that it does not know.
func TestRequestsAreReadStrictly(t *testing.T) {
	for _, c := range []struct{ method, path, body, message, hint string }{
		{"POST", "/v1/jobs", `{"nam":"x"}`, `unknown field "nam"`, `did you mean "name"?`},
		{"POST", "/v1/jobs", `{"gpu_mili":1}`, `unknown field "gpu_mili"`, `did you mean "gpu_milli"?`},
		{"POST", "/v1/jobs", `{"uid":0}`, `unknown field "uid"`, ""},
		{"POST", "/v1/jobs", `{"xyzzyplugh":1}`, `unknown field "xyzzyplugh"`, "is the client newer"},
		{"POST", "/v1/jobs", `{} {}`, "more text after", ""},
		{"POST", "/v1/jobs", `{"name":5}`, "cannot unmarshal number", ""},
		{"POST", "/v1/jobs", `{"name"`, "is not valid", ""},
		{"POST", "/v1/jobs", `{"priority":"hgih"}`, `"hgih" is not a priority`, ""},
		{"POST", "/v1/jobs", `{"grace_seconds":-1}`, "the grace must not be negative", ""},
		{"POST", "/v1/jobs", "", "no command to run", ""},
		{"POST", "/v1/jobs/1/cancel", `{"signal":99}`, "99 is not a signal", ""},
		{"POST", "/v1/jobs/1/cancel", `{"pad":"` + strings.Repeat("x", maxBodyBytes) + `"}`, "larger than 65536 bytes", ""},
		{"POST", "/v1/jobs/01/cancel", ``, `"01" is not a job id`, ""},
		{"POST", "/v1/gpus/x/pause", ``, `"x" is not a GPU index`, ""},
		{"POST", "/v1/gpus/0/pause", `{"reason":"\u001b[31m"}`, "must be printable", ""},
		{"POST", "/v1/gpus/0/resume", `{"reason":"x"}`, `unknown field "reason"`, ""},
		{"GET", "/v1/jobs?stat=queued", ``, `unknown query word "stat"`, `did you mean "state"?`},
		{"GET", "/v1/jobs?state=quened", ``, `unknown state "quened"`, `did you mean "queued"?`},
		{"GET", "/v1/jobs?ended=-1", ``, "not a number of ended jobs", ""},
		{"GET", "/v1/jobs?ids=5-1", ``, "empty or too long", ""},
		{"GET", "/v1/jobs?user=nobodyhere", ``, `no account named "nobodyhere"`, ""},
		{"GET", "/v1/jobs?uid=-1", ``, "no account", ""},
		{"GET", "/v1/status?x=1", ``, `unknown query word "x"`, ""},
		{"GET", "/v1/jobs/1/wait?timeout_seconds=601", ``, "not a time to wait", ""},
		{"GET", "/v2/jobs", ``, `does not know the request GET "/v2/jobs"`, "newer than the daemon"},
		{"DELETE", "/v1/jobs/1", ``, `does not know the request DELETE`, ""},
	} {
		b := queue()
		status, body := ask(testServer(b, nil), root, c.method, c.path, c.body)
		e := refusal(t, body)
		if status != 400 || e.Code != api.CodeUsage || !strings.Contains(e.Message, c.message) || !strings.Contains(e.Hint, c.hint) {
			t.Errorf("%s %s %.40s: %d %+v\nwant %q, hint %q", c.method, c.path, c.body, status, e, c.message, c.hint)
		}
		if len(b.Submissions())+len(b.Commands()) > 0 {
			t.Errorf("%s %s had an effect", c.method, c.path)
		}
	}
}

// FuzzDecodeSubmit checks that every accepted submission can be run and stored.
func FuzzDecodeSubmit(f *testing.F) {
	for _, seed := range []string{
		`{"name":"x","argv":["dHJ1ZQ=="],"dir":"Lw==","gpu_milli":1000,"env_mode":"clean"}`,
		`{"grace_seconds":9223372036854775807,"time_limit_seconds":-9223372036854775808}`,
		`{"name":"x","argv":["e2F9e2F9"],"dir":"Lw==","array":{"params":[{"name":"a","values":["1","2"]}]},"begin":"2026-11-22T08:00:00+01:00"}`,
		`{"name":"x","argv":["AA=="],"dir":"Lw==","tags":{"k":"v"},"after":[{"kind":"after-ok","job":7}],"gpu_ids":[0,2],"gpu_milli":2000}`,
		`{"name":"x","argv":["/w=="],"dir":"L/8=","env":["Qf89"],"priority":"low","warn_signal":10,"warn_before_seconds":60,"dedup":"0123"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var in api.SubmitRequest
		if decodeStrict(body, &in) != nil {
			return
		}
		sub, err := submission(in)
		if err != nil || sub.Validate() != nil {
			return
		}
		if sub.Request.TimeLimit < 0 || len(sub.Payload.Argv) == 0 {
			t.Errorf("accepted %s as %+v", body, sub)
		}
		checkKept(t, &sub.Request)
		checkKept(t, &sub.Label)
		if a := sub.Request.Array; a != nil && a.Has(a.At(0)) {
			sub.Payload.Argv = a.Expand(sub.Payload.Argv, a.At(0))
			if err := validPayload(&sub.Payload); err != nil && sub.Payload.Argv[0] != "" {
				t.Errorf("a task of %s cannot run: %v", body, err)
			}
		}
	})
}

func validPayload(y *job.Payload) error {
	s := job.Submission{Label: job.Label{Name: "x"}, Payload: *y}
	return s.Validate()
}

// A body with very many empty elements is refused before it is decoded, because decoding would
// multiply its size.
func TestManyElements(t *testing.T) {
	many := func(n int) string {
		return `{"name":"x","dir":"Lw==","argv":["aWQ="` + strings.Repeat(`,""`, n) + `]}`
	}
	s := testServer(queue(), nil)
	code, body := ask(s, alice, http.MethodPost, "/v1/jobs", many(maxElements))
	if e := refusal(t, body); code != http.StatusBadRequest || !strings.Contains(e.Message, "elements") {
		t.Errorf("%d %s", code, body)
	}
	if code, body = ask(s, alice, http.MethodPost, "/v1/jobs", many(1000)); code != http.StatusOK {
		t.Errorf("a long command: %d %s", code, body)
	}
}
