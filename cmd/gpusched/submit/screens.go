package submit

import (
	"context"
	"os"
	"slices"
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

// inScreen requests a GNU screen session in the submitter's own socket directory. If screen is not
// installed, it returns an error.
func (c *JobOptions) inScreen(a *cli.App, req *api.SubmitRequest) error {
	if req.Screen = c.Screen; !c.Screen {
		return nil
	}
	there := func(path string) bool { _, err := os.Stat(path); return err == nil }
	if !c.Force && !slices.ContainsFunc(contract.ScreenPrograms(), there) {
		return cli.Refuse(api.CodeUsage, "ask an administrator to install it: 'apt install screen', or 'dnf install screen' from EPEL; "+
			"'gpusched run --tty' and 'gpusched attach' work without it", "GNU screen is not installed on this machine (--screen)")
	}
	if dir := a.Getenv(contract.ScreenDirVariable); dir != "" && req.EnvMode != contract.EnvInherit {
		req.Env = slices.Insert(req.Env, 0, contract.ScreenDirVariable+"="+dir)
	}
	return nil
}

// ScreensCmd lists the GNU screen sessions of the caller's jobs.
type ScreensCmd struct{ cli.OutputFlags }

func (*ScreensCmd) About() cli.About {
	return cli.About{
		Host: cli.RunThere, Hosts: cli.OneAtATime,
		Slurm: cli.NotForSlurm("a session of GNU screen would be on another machine", "'gpusched attach' is a shell in the job"),
	}
}

// screensReply is the command's JSON document.
type screensReply struct {
	Schema  string          `json:"schema"`
	Screens []screenSession `json:"screens"`
}

// A screenSession is the session of a running job.
type screenSession struct {
	Session   string `json:"session"`
	Directory string `json:"directory,omitempty"` // value of SCREENDIR, if it is set
	api.Job
}

func (c *ScreensCmd) Run(ctx context.Context, a *cli.App) error {
	list, err := api.List(ctx, a.Client, api.ListQuery{UID: &a.UID})
	if err != nil {
		return err
	}
	reply := screensReply{Schema: api.Schema, Screens: []screenSession{}}
	for _, j := range list.Jobs {
		if !j.Screen || j.State != job.Running {
			continue
		}
		whole, err := api.Show(ctx, a.Client, j.ID.String(), api.JobQuery{})
		if err != nil {
			return err
		}
		if p := whole.Job.Private; p != nil && p.Screen != "" && whole.Job.State == job.Running {
			reply.Screens = append(reply.Screens, screenSession{p.Screen, screenDirOf(p), j})
		}
	}
	return cli.Report[screenSession]{
		Doc: reply, Rows: reply.Screens, Cols: screenColumns(a),
		IDs:  job.Each(reply.Screens, func(s screenSession) string { return cli.NameOfJob(s.Job) }),
		Text: func(wide bool) { writeScreens(a, reply.Screens, wide) },
	}.Show(a, c.OutputFlags)
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

func screenColumns(a *cli.App) []term.Column[screenSession] {
	return []term.Column[screenSession]{
		{Title: "SCREEN", Key: "session", Least: 30, Cell: func(s screenSession) string { return s.Session }},
		{Title: "ID", Key: "id", Right: true, Cell: func(s screenSession) string { return cli.NameOfJob(s.Job) }},
		{Title: "NAME", Key: "name", Least: 8, Cell: func(s screenSession) string { return s.Name }},
		{Title: "SINCE", Cell: func(s screenSession) string { return a.Out.Moment(s.StartedAt) }},
		{Title: "DIRECTORY", Key: "directory", Maybe: true, Cell: func(s screenSession) string { return s.Directory }},
		{Key: "started_at", Cell: func(s screenSession) string { return cli.Stamp(s.StartedAt) }},
	}
}

func writeScreens(a *cli.App, list []screenSession, wide bool) {
	if len(list) == 0 {
		a.Out.Printf("no job of yours runs in a session of GNU screen ('gpusched submit --screen' starts one)\n")
		return
	}
	term.WriteTable(a.Out, screenColumns(a), list, wide)
	a.Out.Printf("\n'screen -r SCREEN' attaches, Ctrl-A D leaves\n")
}
