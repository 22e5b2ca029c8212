package api

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gpusched/gpusched/daemon/job"
)

// askMany returns what Many reported about jobs 1 and 2, and its error.
func askMany(t *testing.T, client *Client) (told string, err *Error) {
	t.Helper()
	failed := Many(t.Context(), client, ManyRequest{Command: job.CommandHold, Jobs: []string{"1", "2"}}, func(p ManyPart) {
		for _, j := range p.Jobs {
			told += j.ID.String() + " "
		}
		for _, r := range p.Refused {
			told += r.Job + ":" + string(r.Error.Code) + " "
		}
	})
	if failed != nil && !errors.As(failed, &err) {
		t.Fatal(failed)
	}
	return strings.TrimSpace(told), err
}

const (
	firstPart  = `{"jobs":[{"id":1}]}` + "\n"
	secondPart = `{"refused":[{"job":"2","error":{"code":"forbidden","message":"m"}}]}` + "\n"
)

// If an answer is cut off, Many reports the outcomes that arrived before the cut, and does not
// repeat the request.
func TestManyReportsWhatArrivedBeforeTheCut(t *testing.T) {
	for name, c := range map[string]struct {
		text, told string
		code       Code // "" means no error
		hint       string
	}{
		"whole":         {firstPart + secondPart + `{"done":true}` + "\n", "1 2:forbidden", "", ""},
		"cut at once":   {"", "", CodeUnreachable, "may have reached some of the jobs"},
		"cut later":     {firstPart, "1", CodeUnreachable, "may have reached some of the jobs"},
		"cut in a line": {firstPart + secondPart[:20], "1", CodeUnreachable, "may have reached some of the jobs"},
		"an error":      {firstPart + `{"error":{"code":"unavailable","message":"m","hint":"h"}}` + "\n", "1", CodeUnavailable, "h"},
		"no JSON":       {firstPart + "so\n", "1", CodeInternal, "gpusched version"},
	} {
		var requests atomic.Int32
		client := daemon(t, func(w http.ResponseWriter, r *http.Request) {
			requests.Add(1)
			io.WriteString(w, c.text)
			if !strings.Contains(c.text, "done") {
				http.NewResponseController(w).Flush()
				cutOff(w)
			}
		})
		told, err := askMany(t, client)
		if told != c.told || requests.Load() != 1 {
			t.Errorf("%s: %q is told after %d requests", name, told, requests.Load())
		}
		switch {
		case c.code == "" && err == nil:
		case c.code == "" || err == nil || err.Code != c.code || !strings.Contains(err.Hint, c.hint):
			t.Errorf("%s: %+v", name, err)
		}
	}
}

// A daemon without room for the request has done nothing, so the request is repeated.
func TestManyIsRepeatedWithoutRoom(t *testing.T) {
	var requests atomic.Int32
	var bodies [2]string
	client := daemon(t, func(w http.ResponseWriter, r *http.Request) {
		n := requests.Add(1)
		body, _ := io.ReadAll(r.Body)
		bodies[min(n, 2)-1] = string(body)
		if n == 1 {
			w.Header().Set("Retry-After", "0")
			refuse(w, CodeUnavailable)
			return
		}
		io.WriteString(w, firstPart+`{"done":true}`+"\n")
	})
	told, err := askMany(t, client)
	if told != "1" || err != nil || requests.Load() != 2 || bodies[0] != bodies[1] || !strings.Contains(bodies[0], `"jobs":["1","2"]`) {
		t.Errorf("%q, %v after %d requests of %q", told, err, requests.Load(), bodies)
	}
}

// A request that the daemon refuses has changed nothing.
func TestManyThatAreRefused(t *testing.T) {
	var requests atomic.Int32
	client := daemon(t, func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		refuse(w, CodeUsage)
	})
	if told, err := askMany(t, client); told != "" || err == nil || err.Code != CodeUsage {
		t.Errorf("%q, %v", told, err)
	}
	ids, users, failed := Takes(t.Context(), client, ListQuery{}, job.CommandCancel)
	var err *Error
	if len(ids) > 0 || users != 0 || !errors.As(failed, &err) || err.Code != CodeUsage {
		t.Errorf("%v of %d, %v", ids, users, failed)
	}
	if n := requests.Load(); n != 2 {
		t.Errorf("%d requests", n)
	}
}

// If an event lacks a field that its kind needs, there is an error and not a panic.
func TestAnEventIsWhole(t *testing.T) {
	for _, kind := range []job.EventKind{job.EventGPU, job.EventFault, job.EventDrain, job.EventReservation} {
		client := daemon(t, func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, `{"event":"`+string(kind)+`","number":4}`+"\n")
		})
		var err *Error
		if list, failed := PastEvents(t.Context(), client, 0); len(list) > 0 || !errors.As(failed, &err) || err.Code != CodeInternal {
			t.Errorf("%s: %+v, %v", kind, list, failed)
		}
	}
}

// Half a line is not an event. The whole event is sent again.
func TestAnEventThatWasCutComesAgain(t *testing.T) {
	var asked []string
	client := daemon(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Query().Get("since"))
		if len(asked) == 1 {
			io.WriteString(w, `{"event":"gap","number":4}`+"\n"+`{"event":"gap","num`)
			http.NewResponseController(w).Flush()
			cutOff(w)
		}
		io.WriteString(w, `{"event":"gap","number":5}`+"\n")
	})
	var got []int64
	for e, err := range Events(t.Context(), client, 3) {
		if err != nil {
			t.Fatal(err)
		}
		if got = append(got, e.Number); e.Number == 5 {
			break
		}
	}
	if !slices.Equal(got, []int64{4, 5}) || !slices.Equal(asked, []string{"3", "4"}) {
		t.Errorf("events %d, asked since %q", got, asked)
	}
}
