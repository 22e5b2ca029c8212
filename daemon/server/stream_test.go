package server

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// A streamed listing is the same as an encoded api.ListReply, and the client can read it.
func TestAListingIsTheReply(t *testing.T) {
	s := testServer(queue(), nil)
	for _, jobs := range [][]job.JobView{nil, {{}}, {{Job: job.Job{ID: 1, Label: job.Label{Name: "<a&b>"}}}, {Job: job.Job{ID: 2}}}} {
		for _, omitted := range []int{0, 7} {
			l := listing{jobs: jobs, names: s.namer(), ListReply: api.ListReply{GPUs: []api.GPU{{GPU: job.GPU{Index: 3}}}, Omitted: omitted}}
			want := api.ListReply{Schema: api.Schema, Jobs: []api.Job{}, GPUs: l.GPUs, Omitted: omitted}
			for _, v := range jobs {
				want.Jobs = append(want.Jobs, renderJob(&v))
			}
			var b strings.Builder
			if err := l.stream(&b); err != nil {
				t.Fatal(err)
			}
			var got api.ListReply
			if err := json.Unmarshal([]byte(b.String()), &got); err != nil {
				t.Fatalf("%v in %s", err, b.String())
			}
			text, _ := json.Marshal(want)
			want = api.ListReply{}
			if err := json.Unmarshal(text, &want); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
		}
	}
}

// A listing of names has only the name of each job.
func TestAListingOfNames(t *testing.T) {
	s := testServer(queueWithArray(), nil)
	jobs := func(path string) (reply api.ListReply) {
		if _, body := ask(s, bob, "GET", path, ""); json.Unmarshal([]byte(body), &reply) != nil {
			t.Fatal(body)
		}
		return reply
	}
	var want []api.Job
	for _, j := range jobs("/v1/jobs").Jobs {
		want = append(want, api.Job{ID: j.ID, Task: j.Task})
	}
	if got := jobs("/v1/jobs?names=1").Jobs; len(got) != 4 || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

// In a brief listing, a reason has only the parts that a table shows, and the sentence of each
// cause occurs only once.
func TestABriefListing(t *testing.T) {
	var whole, brief api.ListReply
	for form, reply := range map[string]*api.ListReply{"1": &whole, "brief": &brief} {
		if _, body := ask(testServer(queue(), nil), bob, "GET", "/v1/jobs?reasons="+form, ""); json.Unmarshal([]byte(body), reply) != nil {
			t.Fatal(body)
		}
	}
	want := whole.Jobs[1].Reasons[0]
	if want.Sentence == "" {
		t.Fatal("there is no sentence to leave out")
	}
	want.Sentence = ""
	whole.Jobs[1].Reasons[0] = want
	if !reflect.DeepEqual(brief, whole) || brief.Jobs[1].Why == "" {
		t.Errorf("got %+v\nwant %+v", brief.Jobs, whole.Jobs)
	}
}

// A listing of ids has one line for each job of the normal listing, in the same order.
func TestAListingOfIDs(t *testing.T) {
	s := testServer(queueWithArray(), nil)
	for _, words := range []string{"", "state=running", "waiting=1", "ids=1-3,3_1", "ended=5", "uid=1002"} {
		var reply api.ListReply
		if _, body := ask(s, bob, "GET", "/v1/jobs?"+words, ""); json.Unmarshal([]byte(body), &reply) != nil {
			t.Fatal(body)
		}
		want := ""
		for _, j := range reply.Jobs {
			name := j.ID.String()
			if j.Task != nil {
				name = j.Task.Name
			}
			want += name + "\n"
		}
		if status, got := ask(s, bob, "GET", "/v1/jobs?form=ids&"+words, ""); status != 200 || got != want {
			t.Errorf("%s: %d %q, want %q", words, status, got, want)
		}
	}
	if status, body := ask(s, bob, "GET", "/v1/jobs?form=yaml", ""); status != 400 || !strings.Contains(body, "yaml") {
		t.Errorf("an unknown form: %d %s", status, body)
	}
}
