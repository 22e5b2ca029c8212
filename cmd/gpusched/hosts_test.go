package main

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

func TestWordsAreDividedAtTheirMachines(t *testing.T) {
	for word, want := range map[string][]placed{
		"12":                {{"", "12"}},
		"12,14-16":          {{"", "12,14-16"}},
		"a:12":              {{"a", "12"}},
		"a:7_3,5,b:1":       {{"a", "7_3,5"}, {"b", "1"}},
		"1,a:2":             {{"", "1"}, {"a", "2"}},
		"ann@b.c:@~1":       {{"ann@b.c", "@~1"}},
		".:12":              {{".", "12"}},
		"name:a:b,c":        {{"", "name:a:b,c"}},
		"a:name:x,y:z":      {{"a", "name:x,y:z"}},
		"slurm:12":          {{"", "slurm:12"}},
		"a:":                {{"a", ""}},
		":12":               {{"", ":12"}},
		"a b:12":            {{"", "a b:12"}},
		"7_[1,2],a:7_[3,4]": {{"", "7_[1,2]"}, {"a", "7_[3,4]"}},
	} {
		if got := placedWords(word); !slices.Equal(got, want) {
			t.Errorf("%q is %q, want %q", word, got, want)
		}
	}
}

func TestTheFirstToStartIsTheBest(t *testing.T) {
	now := time.Now()
	starts := offer{host: "now", place: &peer{}, reply: api.SubmitReply{Job: api.Job{State: job.Starting}}}
	waits := func(host string, in, ahead time.Duration) offer {
		return offer{host: host, place: &peer{ahead: ahead}, reply: api.SubmitReply{Job: api.Job{State: job.Queued, ExpectedStart: now.Add(in)}}}
	}
	unknown := offer{host: "unknown", place: &peer{}, reply: api.SubmitReply{Job: api.Job{State: job.Queued, StartUnknown: true}}}
	broken := offer{host: "broken", err: errors.New("no")}
	nothing := offer{host: "nothing", place: &peer{}, reply: api.SubmitReply{Job: api.Job{State: job.Queued}}}
	twin := starts
	twin.host = "twin"
	for _, c := range []struct {
		list []offer
		want string
	}{
		{[]offer{waits("late", time.Hour, 0), waits("soon", time.Minute, 0), unknown}, "soon"},
		{[]offer{unknown, waits("late", time.Hour, 0)}, "late"},
		{[]offer{broken, unknown}, "unknown"},
		{[]offer{waits("soon", time.Minute, 0), starts, twin}, "now"},
		{[]offer{twin, starts}, "twin"},
		{[]offer{unknown, waits("soon", time.Second, 0), nothing}, "nothing"},
		{[]offer{waits("by a fast clock", time.Hour, 59*time.Minute), waits("soon", 10*time.Minute, 0)}, "by a fast clock"},
		{[]offer{broken}, ""},
		{nil, ""},
	} {
		got := ""
		if o := first(c.list); o != nil {
			got = o.host
		}
		if got != c.want {
			t.Errorf("%v: %q is the best", c, got)
		}
	}
}

func TestTheEnvironmentOfAnotherMachine(t *testing.T) {
	env := func(list ...string) (out [][]byte) { return bytesOf(list) }
	n := &newElsewhere{c: &jobOptions{SetEnv: []string{"DISPLAY=:7", "SHELL"}}, req: api.SubmitRequest{
		Env: env("PATH=/bin", "HOME=/home/me", "USER=me", "SSH_AUTH_SOCK=/tmp/x", "XDG_RUNTIME_DIR=/run/user/1", "SHELL=/bin/me", "DISPLAY=:7", "A="),
	}}
	p := &peer{app: &app{host: "b"}}
	p.User, p.Home, p.Shell = "you", "/srv/you", "/bin/you"
	got := each(n.requestFor(p).Env, func(b []byte) string { return string(b) })
	want := []string{"PATH=/bin", "HOME=/srv/you", "USER=you", "SHELL=/bin/me", "DISPLAY=:7", "A="}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	p.app.host = "."
	if here := n.requestFor(p).Env; len(here) != len(n.req.Env) {
		t.Errorf("here: %q", here)
	}
}
