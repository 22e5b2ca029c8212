package server

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/server/servertest"
)

// readParts reads an answer about many jobs, and checks that the last line says that all is done.
func readParts(t *testing.T, body string) (all api.ManyPart) {
	t.Helper()
	for line := range strings.Lines(body) {
		var p api.ManyPart
		if err := json.Unmarshal([]byte(line), &p); err != nil || p.Schema != api.Schema || all.Done {
			t.Fatalf("%v in %s", err, body)
		}
		all.Jobs, all.Refused = append(all.Jobs, p.Jobs...), append(all.Refused, p.Refused...)
		all.Done, all.Error = p.Done, p.Error
	}
	return all
}

// The owner of each job is checked. Refusals are the same as on the route for one job.
func TestManyIsRefusedJobByJob(t *testing.T) {
	for verb, c := range map[string]struct{ with, route, body string }{
		"cancel": {}, "hold": {}, "release": {}, "requeue": {}, "suspend": {}, "resume": {},
		"signal": {`,"signal":9`, "cancel", `{"signal":9}`},
		"update": {`,"change":{"name":"x"}`, "update", `{"name":"x"}`},
	} {
		b := queueWithArray()
		status, body := ask(testServer(b, nil), bob, "POST", "/v1/commands", `{"command":"`+verb+`","jobs":["1","2","3","3_1"]`+c.with+`}`)
		got := readParts(t, body)
		if status != 200 || len(got.Jobs) > 0 || len(got.Refused) != 4 || !got.Done || len(b.Commands()) > 0 {
			t.Errorf("%s by a stranger: %d %s, %v", verb, status, body, b.Commands())
		}
		for _, r := range got.Refused {
			_, alone := ask(testServer(queueWithArray(), nil), bob, "POST", "/v1/jobs/"+r.Job+"/"+cmp.Or(c.route, verb), c.body)
			if one := refusal(t, alone); !reflect.DeepEqual(one, r.Error) {
				t.Errorf("%s of %s: %+v, and alone %+v", verb, r.Job, r.Error, one)
			}
		}
		if strings.Contains(body, "secret") || strings.Contains(body, "/home/alice") {
			t.Errorf("%s shows what is private: %s", verb, body)
		}
	}
}

// The command is carried out for each job that allows it, in the given order, and only once for a
// job that is named twice. For all other jobs it is refused.
func TestMany(t *testing.T) {
	for _, brief := range []string{"", `,"brief":true`} {
		b := queueWithArray()
		s := testServer(b, nil)
		_, body := ask(s, alice, "POST", "/v1/commands", `{"command":"cancel","jobs":["3_5","2","seven","2","99","1"]`+brief+`}`)
		got := readParts(t, body)
		var jobs, refused []string
		for _, j := range got.Jobs {
			name := j.ID.String()
			if j.Task != nil {
				name = j.Task.Name
			}
			jobs = append(jobs, name+" "+string(j.State))
		}
		for _, r := range got.Refused {
			refused = append(refused, r.Job+" "+string(r.Error.Code))
		}
		if strings.Join(jobs, ", ") != "3_5 cancelled, 2 cancelled, 1 running" || strings.Join(refused, ", ") != "seven usage, 99 not-found" {
			t.Errorf("%q, refused %q: %s", jobs, refused, body)
		}
		if n := len(b.Commands()); n != 3 {
			t.Errorf("%d commands", n)
		}
	}
	for body, want := range map[string]string{
		`{"command":"open","jobs":["1"]}`:                     "cannot be applied to several",
		`{"command":"drain","jobs":["1"]}`:                    "cannot be applied to several",
		`{"command":"signal","jobs":["1"]}`:                   "0 is not a signal",
		`{"command":"cancel","signal":9,"jobs":["1"]}`:        "takes a signal",
		`{"command":"signal","signal":999,"jobs":["1"]}`:      "999 is not a signal",
		`{"command":"signal","signal":-1,"jobs":["1"]}`:       "-1 is not a signal",
		`{"command":"update","jobs":["1"]}`:                   "needs a change",
		`{"command":"hold","change":{"cpus":1},"jobs":["1"]}`: "needs a change",
	} {
		b := queueWithArray()
		if status, got := ask(testServer(b, nil), alice, "POST", "/v1/commands", body); status != 400 || !strings.Contains(got, want) || len(b.Commands()) > 0 {
			t.Errorf("%s: %d %s", body, status, got)
		}
	}
}

// The audit log names the jobs of other users that an administrator's command changed,
// and the jobs that were refused.
func TestManyAreInTheAuditLog(t *testing.T) {
	for _, c := range []struct {
		who  peer
		want string
	}{{operator, "outcome=done jobs=2,1"}, {bob, "outcome=refused jobs=2,1"}, {alice, ""}} {
		var log bytes.Buffer
		ask(testServer(queueWithArray(), &log), c.who, "POST", "/v1/commands", `{"command":"cancel","jobs":["2","1"]}`)
		got := ""
		for line := range strings.Lines(log.String()) {
			if strings.Contains(line, "msg=audit") {
				got += line
			}
		}
		if c.want == "" && got != "" || !strings.Contains(got, c.want) || c.want != "" && !strings.Contains(got, "action=cancel") {
			t.Errorf("uid %d: %q, want %q", c.who.uid, got, c.want)
		}
	}
}

// The audit log shows the request. If the client left, the log also shows which commands were
// begun.
func TestTheAuditLogSaysWhatWasAskedOfMany(t *testing.T) {
	for body, want := range map[string]string{
		`{"command":"update","jobs":["2"],"change":{"time_limit_seconds":60}}`: "outcome=done time=1m jobs=2",
		`{"command":"signal","jobs":["1"],"signal":10}`:                        "outcome=done signal=USR1 jobs=1",
	} {
		var log bytes.Buffer
		if ask(testServer(queueWithArray(), &log), operator, "POST", "/v1/commands", body); !strings.Contains(log.String(), want) {
			t.Errorf("%s: %s, want %q", body, log.String(), want)
		}
	}
	for want, who := range map[string]peer{"outcome=unknown jobs=3,2": operator, "": alice} {
		var log bytes.Buffer
		ask(testServer(leaver{queueWithArray()}, &log), who, "POST", "/v1/commands", `{"command":"cancel","jobs":["3","2","1"]}`)
		if got := log.String(); !strings.Contains(got, want) || want == "" && strings.Contains(got, "msg=audit") {
			t.Errorf("uid %d: %s, want %q", who.uid, got, want)
		}
	}
}

// leaver is a backend whose client leaves while two commands are in progress.
type leaver struct{ *servertest.Backend }

func (leaver) DoMany(context.Context, job.Actor, []job.Command, func([]job.Outcome) error) (int, error) {
	return 2, context.Canceled
}

// However many jobs are refused at once, each line is short enough for a client.
func TestLinesAboutManyAreBounded(t *testing.T) {
	var names []string
	for i := range maxManyTasks {
		names = append(names, fmt.Sprintf("3_%d", 1000+i))
	}
	post := func(names []string) (int, string) {
		body, err := json.Marshal(api.ManyRequest{Command: job.CommandHold, Jobs: names})
		if err != nil {
			t.Fatal(err)
		}
		return ask(testServer(queueWithArray(), nil), alice, "POST", "/v1/commands", string(body))
	}
	_, body := post(names)
	if got := readParts(t, body); len(got.Refused) != len(names) || !got.Done {
		t.Errorf("%d of %d are refused", len(got.Refused), len(names))
	}
	for line := range strings.Lines(body) {
		if len(line) > 1<<20 {
			t.Errorf("a line of %d bytes", len(line))
		}
	}
	if status, body := post(append(names, "3_1")); status != 400 || !strings.Contains(body, "at most 10000 tasks") {
		t.Errorf("one more: %d %.200s", status, body)
	}
	long := api.ManyPart{}
	for i := range 7 {
		long.Jobs = append(long.Jobs, api.Job{Label: job.Label{Name: strings.Repeat("x", maxLine/3)}, ID: job.ID(i)})
	}
	long.Refused = []api.RefusedJob{{Job: "8"}}
	w := httptest.NewRecorder()
	if !(&manyReply{}).write(w, &counter{to: w}, long) {
		t.Fatal("not written")
	}
	for line := range strings.Lines(w.Body.String()) {
		if len(line) > maxLine {
			t.Errorf("a line of %d bytes", len(line))
		}
	}
	if got := readParts(t, w.Body.String()); len(got.Jobs) != 7 || got.Jobs[6].ID != 6 || len(got.Refused) != 1 {
		t.Errorf("%d jobs, %d refused", len(got.Jobs), len(got.Refused))
	}
}

// A listing can ask for the jobs that a command applies to. It then also has the jobs' owners.
func TestAListingForACommand(t *testing.T) {
	b := queueWithArray()
	if err := b.Do(t.Context(), job.Actor{UID: 1001, User: "alice"}, job.Command{Kind: job.CommandHold, Job: 2}); err != nil {
		t.Fatal(err)
	}
	s := testServer(b, nil)
	for verb, want := range map[string]string{
		"cancel": "3 1001\n2 1001\n1 1001\n", "hold": "3 1001\n", "release": "2 1001\n", "signal": "1 1001\n3_1 1001\n", "resume": "",
	} {
		if status, got := ask(s, bob, "GET", "/v1/jobs?form=owners&for="+verb, ""); status != 200 || got != want {
			t.Errorf("%s: %d %q, want %q", verb, status, got, want)
		}
	}
	for _, words := range []string{"form=owners&for=open", "form=owners&for=cancel&ids=1", "form=owners&for=cancel&ended=3"} {
		if status, got := ask(s, bob, "GET", "/v1/jobs?"+words, ""); status != 400 || !strings.Contains(got, "use cancel, signal, hold") {
			t.Errorf("%s: %d %s", words, status, got)
		}
	}
}
