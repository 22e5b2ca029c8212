package server

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/config"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

// A job may use an image only with an engine that the site allows. The usage reply lists these
// engines.
func TestEnginesOfTheSite(t *testing.T) {
	both, docker := []contract.Engine{contract.Podman, contract.Apptainer}, []contract.Engine{contract.Docker}
	for _, c := range []struct {
		allowed []contract.Engine
		engine  contract.Engine
		refused string
	}{
		{both, contract.Podman, ""}, {both, contract.Apptainer, ""}, {docker, contract.Docker, ""}, {nil, "", ""},
		{both, contract.Docker, "this site does not allow jobs to use docker (--image)"},
		{docker, contract.Podman, "this site does not allow jobs to use podman (--image)"},
		{nil, contract.Podman, "this site does not allow jobs to use podman (--image)"},
	} {
		b := queue()
		s := testServer(b, nil)
		cfg := config.Default()
		cfg.Containers.Engines = c.allowed
		s.opt.Config = func() *config.Config { return &cfg }
		in := api.SubmitRequest{Label: job.Label{Name: "x"}, Program: api.Program{Argv: api.Words{"x"}, Dir: "/", EnvMode: contract.EnvClean}}
		if c.engine != "" {
			in.Container = contract.Container{Engine: c.engine, Image: "alpine"}
		}
		body, _ := json.Marshal(in)
		status, reply := ask(s, bob, "POST", "/v1/jobs", string(body))
		if c.refused == "" {
			if jobs := b.Submissions(); status != http.StatusOK || jobs[0].Payload.Container.Engine != c.engine || jobs[0].Request.ContainerEngine != c.engine {
				t.Errorf("%+v: %d %s", c, status, reply)
			}
			continue
		}
		if e := refusal(t, reply); e.Code != api.CodePolicy || e.Message != c.refused || !strings.Contains(e.Hint, "containers.engines") {
			t.Errorf("%+v: %+v", c, e)
		}
	}
	_, reply := ask(testServer(queue(), nil), bob, "GET", "/v1/usage", "")
	if !strings.Contains(reply, `"engines":["podman","apptainer"]`) {
		t.Error(reply)
	}
}

// If the site lists the allowed programs, images are refused: an image brings programs of its own,
// and the job could run any of them.
func TestNoImageWherePlacesAreListed(t *testing.T) {
	s := testServer(queue(), nil)
	allow(s, []string{"/srv/scripts"})
	in := api.SubmitRequest{Label: job.Label{Name: "x"}, Program: api.Program{Argv: api.Words{"/srv/scripts/a"}, Dir: "/", EnvMode: contract.EnvClean}}
	in.Container = contract.Container{Engine: contract.Podman, Image: "alpine"}
	body, _ := json.Marshal(in)
	status, reply := ask(s, bob, "POST", "/v1/jobs", string(body))
	if status == http.StatusOK || !strings.Contains(refusal(t, reply).Message, "an image has programs of its own (--image)") {
		t.Errorf("%d %s", status, reply)
	}
}

// A scheduler of a user's own does not offer Docker: its jobs have no slices.
func TestOwnSchedulerHasNoDocker(t *testing.T) {
	cfg := config.Default()
	cfg.Containers.Engines = contract.Engines()
	o := Options{Config: func() *config.Config { return &cfg }}
	if got := o.engines(); !slices.Equal(got, contract.Engines()) {
		t.Errorf("the machine's: %v", got)
	}
	o.Own = &job.Account{UID: alice.uid}
	if got := o.engines(); len(got) != 2 || slices.Contains(got, contract.Docker) {
		t.Errorf("a user's own: %v", got)
	}
}
