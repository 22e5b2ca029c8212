package client

import (
	"context"
	"os"
	"slices"
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

// inScreen refuses a session of GNU screen where there is none to be had, and has it in
// the directory where the submitter's own are.
func (c *jobOptions) inScreen(a *app, req *api.SubmitRequest) error {
	if req.Screen = c.Screen; !c.Screen {
		return nil
	}
	there := func(path string) bool { _, err := os.Stat(path); return err == nil }
	if !c.Force && !slices.ContainsFunc(contract.ScreenPrograms(), there) {
		return refuse(api.CodeUsage, "ask for it: 'apt install screen', or 'dnf install screen' from EPEL; "+
			"'gpusched run --tty' and 'gpusched attach' do without", "GNU screen is not installed on this machine (--screen)")
	}
	if dir := a.getenv(contract.ScreenDirVariable); dir != "" && req.EnvMode != contract.EnvInherit {
		req.Env = slices.Insert(req.Env, 0, contract.ScreenDirVariable+"="+dir)
	}
	return nil
}

// screensCmd lists one's own sessions of GNU screen.
type screensCmd struct{ outputFlags }

func (*screensCmd) About() About {
	return About{
		Host: RunThere, Hosts: OneAtATime,
		Slurm: NotForSlurm("a session of GNU screen would be on another machine", "'gpusched attach' is a shell in the job"),
	}
}

// screensReply is what screens prints as JSON.
type screensReply struct {
	Schema  string    `json:"schema"`
	Screens []aScreen `json:"screens"`
}

// aScreen is a session of a job that runs.
type aScreen struct {
	Session   string `json:"session"`
	Directory string `json:"directory,omitempty"` // SCREENDIR, where it has one
	api.Job
}

func (c *screensCmd) Run(ctx context.Context, a *app) error {
	list, err := api.List(ctx, a.client, api.ListQuery{UID: &a.uid})
	if err != nil {
		return err
	}
	reply := screensReply{Schema: api.Schema, Screens: []aScreen{}}
	for _, j := range list.Jobs {
		if !j.Screen || j.State != job.Running {
			continue
		}
		whole, err := api.Show(ctx, a.client, j.ID.String(), api.JobQuery{})
		if err != nil {
			return err
		}
		if p := whole.Job.Private; p != nil && p.Screen != "" && whole.Job.State == job.Running {
			reply.Screens = append(reply.Screens, aScreen{p.Screen, screenDirOf(p), j})
		}
	}
	return report[aScreen]{
		doc: reply, rows: reply.Screens, cols: a.screenColumns(),
		ids:  each(reply.Screens, func(s aScreen) string { return nameOfJob(s.Job) }),
		text: func(wide bool) { a.writeScreens(reply.Screens, wide) },
	}.show(a, c.outputFlags)
}

// screenLine is how to attach to a job that runs in a session.
func screenLine(j api.Job) string {
	switch {
	case !j.Screen:
		return ""
	case j.State == job.Running && j.Private.Screen != "":
		return j.Private.Screen + " ('screen -r " + j.Private.Screen + "' attaches)"
	}
	return "in a session while it runs"
}

func screenDirOf(p *api.Private) string {
	dir := ""
	for _, kv := range p.Env {
		if v, ok := strings.CutPrefix(kv, contract.ScreenDirVariable+"="); ok {
			dir = v
		}
	}
	return dir
}

func (a *app) screenColumns() []term.Column[aScreen] {
	return []term.Column[aScreen]{
		{Title: "SCREEN", Key: "session", Least: 30, Cell: func(s aScreen) string { return s.Session }},
		{Title: "ID", Key: "id", Right: true, Cell: func(s aScreen) string { return nameOfJob(s.Job) }},
		{Title: "NAME", Key: "name", Least: 8, Cell: func(s aScreen) string { return s.Name }},
		{Title: "SINCE", Cell: func(s aScreen) string { return a.out.Moment(s.StartedAt) }},
		{Title: "DIRECTORY", Key: "directory", Maybe: true, Cell: func(s aScreen) string { return s.Directory }},
		{Key: "started_at", Cell: func(s aScreen) string { return stamp(s.StartedAt) }},
	}
}

func (a *app) writeScreens(list []aScreen, wide bool) {
	if len(list) == 0 {
		a.out.Printf("no job of yours runs in a session of GNU screen ('gpusched submit --screen' starts one)\n")
		return
	}
	term.WriteTable(a.out, a.screenColumns(), list, wide)
	a.out.Printf("\n'screen -r SCREEN' attaches, Ctrl-A D leaves\n")
}
