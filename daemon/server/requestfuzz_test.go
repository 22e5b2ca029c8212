package server

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/daemon/job"
)

// FuzzRequest sends arbitrary requests as an ordinary account without jobs.
// Each answer must have the form of the API, and must not be an internal error.
// No request may change anything of other accounts, or reveal anything private.
func FuzzRequest(f *testing.F) {
	for _, seed := range [][3]string{
		{"GET", "/v1/jobs", ""}, {"GET", "/v1/jobs?ids=1-3,3_1&ended=5&reasons=1&names=1", ""}, {"GET", "/v1/jobs/1", ""}, {"GET", "/v1/jobs/3_2", ""},
		{"GET", "/v1/jobs/3_1/wait?timeout_seconds=0", ""}, {"POST", "/v1/jobs/1/cancel", `{"signal":9}`}, {"POST", "/v1/jobs/3_1/update", `{"begin":"9999-12-31T23:59:59-12:00"}`},
		{"POST", "/v1/gpus/0/drain", `{"reason":"x","until":"2999-01-01T00:00:00Z"}`}, {"POST", "/v1/reservations", `{"gpus":[0],"to":"2030-01-01T00:00:00Z"}`},
		{"DELETE", "/v1/reservations/1", ""}, {"GET", "/v1/../v1/jobs/%31", ""}, {"GET", "//v1//jobs?array=3;user=alice&uid=%zz", ""},
		{"POST", "/v1/jobs", `{"name":"x","argv":["dHJ1ZQ=="],"dir":"Lw==","array":{"spec":"%2","params":[{"name":"a","values":["1","2"]}]}}`},
		{"POST", "/v1/jobs", `{"begin":"0000-01-01T00:00:00+23:59","name":"x","argv":["eA=="],"dir":"Lw==","after":[{"kind":"after","job":1}]}`},
		{"GET", "/v1/gpus", ""}, {"GET", "/v1/health", ""}, {"GET", "/v1/status", ""}, {"OPTIONS", "*", ""}, {"CONNECT", "x:1", ""},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	f.Fuzz(func(t *testing.T, method, target, body string) {
		r := read(method, target, body)
		if r == nil || r.Method == http.MethodConnect {
			return // net/http refused the request
		}
		b := queueWithArray()
		w := sendAs(testServer(b, nil), bob, r)
		if w.Body.Len() == 0 && (w.Code >= 300 || strings.Contains(r.URL.Path, "wait")) {
			return // the server cut the request off or redirected it
		}
		if w.Code == http.StatusInternalServerError || w.Code != http.StatusOK && w.Code/100 != 3 && refusal(t, w.Body.String()).Message == "" {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		if len(b.Commands()) > 0 || strings.Contains(w.Body.String(), "secret") {
			t.Fatalf("a stranger did %+v and got %s", b.Commands(), w.Body)
		}
		for _, s := range b.Submissions() {
			checkSubmission(t, s)
		}
	})
}

// read parses a request as net/http does. It returns nil if net/http would refuse it.
func read(method, target, body string) *http.Request {
	text := method + " " + target + " HTTP/1.1\r\nHost: x\r\n\r\n"
	r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(text)))
	if err != nil {
		return nil
	}
	r.Body, r.ContentLength = http.NoBody, 0
	if body != "" {
		from := httptest.NewRequest("POST", "/", strings.NewReader(body))
		r.Body, r.ContentLength = from.Body, from.ContentLength
	}
	return r
}

// sendAs serves a request as if the peer had sent it. A wait ends at once, as if the client had
// left.
func sendAs(s *Server, p peer, r *http.Request) *httptest.ResponseRecorder {
	ctx, cancel := context.WithCancel(context.WithValue(context.Background(), peerKey{}, p))
	defer cancel()
	if strings.Contains(r.URL.Path, "wait") {
		cancel()
	}
	w := httptest.NewRecorder()
	s.mux.ServeHTTP(w, r.WithContext(ctx))
	return w
}

// checkSubmission checks an accepted submission. It must be valid and belong to its sender. Storing
// and reading it must not change it.
func checkSubmission(t *testing.T, s job.Submission) {
	t.Helper()
	if err := s.Validate(); err != nil || s.Owner.UID != bob.uid || s.Admin {
		t.Fatalf("let in %+v: %v", s, err)
	}
	checkKept(t, &s.Request)
	checkKept(t, &s.Label)
}

func checkKept[T any](t *testing.T, v *T) {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatalf("%+v cannot be written: %v", v, err)
	}
	var again T
	if err := json.Unmarshal(text, &again); err != nil {
		t.Fatalf("%s cannot be read: %v", text, err)
	}
	if twice, err := json.Marshal(&again); err != nil || string(twice) != string(text) {
		t.Fatalf("%s is kept as %s, %v", text, twice, err)
	}
}

// FuzzChange checks that every accepted update by the owner or an administrator can be stored.
func FuzzChange(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"begin":"2026-11-22T08:00:00+01:00","after":[]}`, `{"begin":"9999-12-31T23:59:59-12:00"}`, `{"name":""}`, `{"name":"\u202e"}`,
		`{"gpu_milli":1500,"time_limit_seconds":-1,"priority":"low","array_limit":0,"retries":100,"comment":"é"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var c job.Change
		if decodeStrict(body, &c) != nil || checkChange(&c) != nil {
			return
		}
		checkKept(t, &c)
	})
}

// FuzzLimitsOf parses arbitrary texts as /proc/PID/limits.
func FuzzLimitsOf(f *testing.F) {
	f.Add("Limit                     Soft Limit           Hard Limit           Units     \nMax open files            1024                 1048576              files     \n")
	f.Add("Max cpu time              unlimited            unlimited            seconds   \n")
	f.Add("Max nice priority         -1 99999999999999999999999\n")
	f.Fuzz(func(t *testing.T, limits string) {
		list := parseLimits(limits)
		known := map[string]bool{}
		for _, name := range limitNames {
			known[name] = true
		}
		for _, l := range list {
			if !known[l.Name] {
				t.Fatalf("limit %+v", l)
			}
		}
		if len(list) > strings.Count(limits, "\n")+1 {
			t.Fatalf("%d limits of %q", len(list), limits)
		}
	})
}
