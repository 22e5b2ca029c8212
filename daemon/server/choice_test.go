package server

import (
	"encoding/json"
	"fmt"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

func TestParseChoice(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for query, want := range map[string]job.Choice{
		"":                            {},
		"state=failed,lost&name=x":    {States: []job.State{job.Failed, job.Lost}, Name: "x"},
		"state=lost,lost,failed,lost": {States: []job.State{job.Lost, job.Failed}}, // without repetitions
		"like=a*&tag=k%3Dv%3D1&tag=b%3D&since=2026-03-01T12:00:00Z": {
			Like: "a*", Tags: map[string]string{"k": "v=1", "b": ""}, Since: at,
		},
	} {
		if got, err := choiceIn(query); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, %v", query, got, err)
		}
	}
	many := ""
	for i := range job.MaxTags + 1 {
		many += fmt.Sprintf("&tag=k%d%%3D", i)
	}
	for query, want := range map[string]string{
		"like=" + strings.Repeat("*", maxPattern+1): "a pattern of 257 bytes is too long", many: "no job has 17 tags",
		"state=failed,": `unknown state ""`, "state=odd": `unknown state "odd"`, "tag=k": `"k" is not a tag`, "tag=%3Dv": `is not a tag`, "since=2h": `"2h" is not a time`,
	} {
		if _, err := choiceIn(query); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", query, err)
		}
	}
}

// choiceIn returns the job.Choice in the query of a URL.
func choiceIn(query string) (job.Choice, error) {
	words, _ := url.ParseQuery(query)
	var q api.ListQuery
	if err := api.DecodeQuery(words, &q); err != nil {
		return job.Choice{}, err
	}
	return choice(&q)
}

// The status counts the caller's jobs that ended within the last hour.
// Tasks count, and their array does not.
func TestRecentlyEnded(t *testing.T) {
	b := queue()
	ended := func(uid int, state job.State, ago time.Duration, task bool) {
		j := job.JobView{Job: job.Job{ID: job.ID(100 + len(b.View.Jobs)), Owner: job.Owner{UID: uid}, State: state, ChangedAt: time.Now().Add(-ago), Result: &job.Result{Outcome: state}}}
		if task {
			j.Request.Array = &job.Array{}
			j.Task = &job.Task{Array: 7}
		}
		b.View.Jobs = append(b.View.Jobs, j)
	}
	ended(bob.uid, job.Completed, time.Minute, false)
	ended(bob.uid, job.Failed, time.Minute, true)
	ended(bob.uid, job.Cancelled, time.Minute, false)
	ended(bob.uid, job.Failed, 2*time.Hour, false)
	ended(bob.uid+1, job.Failed, time.Minute, false)
	b.View.Jobs = append(b.View.Jobs, job.JobView{Job: job.Job{ID: 99, Owner: job.Owner{UID: bob.uid}, State: job.Completed, ChangedAt: time.Now(),
		Request: job.Request{Array: &job.Array{}}, Result: &job.Result{Outcome: job.Completed}}})
	status, body := ask(testServer(b, nil), bob, "GET", "/v1/jobs?recent=1", "")
	var r api.ListReply
	if err := json.Unmarshal([]byte(body), &r); err != nil || status != 200 || r.Recent == nil || r.Recent.Ended != 3 || r.Recent.Failed != 1 {
		t.Errorf("%d %+v, %v", status, r.Recent, err)
	}
	if _, body := ask(testServer(b, nil), bob, "GET", "/v1/jobs", ""); strings.Contains(body, `"recent"`) {
		t.Error("told without being asked")
	}
}

func TestTotals(t *testing.T) {
	b := queue()
	b.View.Totals = &job.Totals{Submitted: 9, Ended: map[job.State]int{job.Failed: 2}, Classes: map[job.Class]job.ClassTotals{job.High: {Queued: 1}, job.Normal: {Active: 3}}}
	b.Checks = []job.Check{{Name: "a", Health: job.Degraded}, {Name: "b", Health: job.Failing}, {Name: "c", Health: job.Failing}}
	_, body := ask(testServer(b, nil), bob, "GET", "/v1/status", "")
	for _, want := range []string{
		`"totals":{"submitted":9,"ended":{"failed":2},"classes":{"high":{"queued":1,"active":0},"normal":{"queued":0,"active":3}}}`,
		`"problem":{"name":"b",`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s in %s", want, body)
		}
	}
}
