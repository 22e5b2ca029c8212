package server

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/config"
	"github.com/gpusched/gpusched/daemon/job"
)

func TestPrograms(t *testing.T) {
	allowed := []string{"/srv/scripts", "/home/*/jobs", "/opt/tools/run*"}
	for _, c := range []struct {
		command, dir string
		want         bool
	}{
		{"/srv/scripts/train.py", "/", true},
		{"/srv/scripts", "/", true},
		{"/srv/scripts2/train.py", "/", false},
		{"/srv/scripts/../../home/bob/x", "/", false},
		{"./train.py", "/srv/scripts/a", true},
		{"../train.py", "/srv/scripts", false},
		{"./train.py", "/home/bob", false},
		{"/home/bob/jobs/a/b.sh", "/", true},
		{"/home/a/b/jobs/x", "/", false},
		{"/opt/tools/run-it --fast", "/", true},
		{"/opt/tools/other", "/", false},
		{"python train.py", "/srv/scripts", true},
		{"python -u -O train.py /home/bob/x", "/srv/scripts", true},
		{"/home/bob/venv/bin/python3.12 /srv/scripts/t.py", "/", true},
		{"python /home/bob/evil.py /srv/scripts/t.py", "/", false},
		{"python train.py", "/home/bob", false},
		{"bash -ex job", "/srv/scripts", true},
		{"torchrun --nproc-per-node 2 train.py", "/srv/scripts", true},
		{"conda run -n env python train.py", "/srv/scripts", true},
		{"python -c print(1)", "/srv/scripts", false},
		{"python -c 1 /srv/scripts/t.py", "/srv/scripts", false},
		{"python -m http.server", "/srv/scripts", false},
		{"bash -lc x", "/srv/scripts", false},
		{"python", "/srv/scripts", false},
		{"nvidia-smi", "/srv/scripts", false},
		{"/home/bob/evil /srv/scripts/t.py", "/", false},
	} {
		b := queue()
		s := testServer(b, nil)
		allow(s, allowed)
		program := api.Program{Argv: strings.Fields(c.command), Dir: api.Bytes(c.dir)}
		body, _ := json.Marshal(api.SubmitRequest{Label: job.Label{Name: "n"}, Program: program})
		status, answer := ask(s, bob, "POST", "/v1/jobs", string(body))
		if got := status == http.StatusOK; got != c.want || got != (len(b.Submissions()) == 1) {
			t.Errorf("%s in %s: allowed = %v: %s", c.command, c.dir, got, answer)
		}
		if !c.want {
			if e := refusal(t, answer); e.Code != api.CodePolicy || !strings.Contains(e.Message, "/srv/scripts, /home/*/jobs") {
				t.Errorf("%s: refused as %+v", c.command, e)
			}
		}
	}
}

// A parameter of an array must not change the path of the program to a place that is not allowed.
func TestAParameterIsNoWayAroundAllowedPaths(t *testing.T) {
	for argv, want := range map[string]bool{"/srv/scripts/{p}": false, "/srv/scripts/x.sh {p}": true} {
		s := testServer(queue(), nil)
		allow(s, []string{"/srv/scripts"})
		in := api.SubmitRequest{Label: job.Label{Name: "n"}, Program: api.Program{Argv: strings.Fields(argv), Dir: "/"}, Request: job.Request{Array: &job.Array{Params: []job.Param{{Name: "p", Values: []string{"a", "../../bin/sh"}}}}}}
		body, _ := json.Marshal(in)
		if status, answer := ask(s, bob, "POST", "/v1/jobs", string(body)); (status == http.StatusOK) != want {
			t.Errorf("%s: %d %s", argv, status, answer)
		}
	}
}

// allow makes the site allow only programs in these places.
func allow(s *Server, places []string) {
	cfg := config.Default()
	cfg.Jobs.AllowedPaths = places
	s.opt.Config = func() *config.Config { return &cfg }
}

// If the site lists allowed places, set-up commands are refused, because they could run anything.
func TestNoSetupWherePlacesAreListed(t *testing.T) {
	b := queue()
	s := testServer(b, nil)
	allow(s, []string{"/srv/scripts"})
	in := api.SubmitRequest{Label: job.Label{Name: "n"}, Program: api.Program{Argv: api.Words{"/srv/scripts/a"}, Dir: "/"}}
	in.Setup.Venv = "/srv/venv"
	body, _ := json.Marshal(in)
	if status, answer := ask(s, bob, "POST", "/v1/jobs", string(body)); status != http.StatusOK {
		t.Errorf("%d %s", status, answer)
	}
	in.Setup.Command = "./other"
	body, _ = json.Marshal(in)
	if _, answer := ask(s, bob, "POST", "/v1/jobs", string(body)); refusal(t, answer).Code != api.CodePolicy || !strings.Contains(answer, "--setup") {
		t.Error(answer)
	}
}
