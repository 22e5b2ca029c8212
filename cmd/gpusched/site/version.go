package site

import (
	"context"
	"fmt"
	"runtime"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// VersionCmd prints versions.
type VersionCmd struct {
	Client bool `name:"client"`
	cli.OutputFlags
}

func (*VersionCmd) About() cli.About {
	return cli.About{Host: cli.RunThere, Hosts: cli.InTurn, Slurm: cli.ForSlurm}
}

// versionsDoc is the command's JSON document. Daemon is nil if the daemon gave no answer.
type versionsDoc struct {
	Schema string            `json:"schema"`
	Client api.VersionReply  `json:"client"`
	Daemon *api.VersionReply `json:"daemon,omitempty"`
}

// A program has the name and the version of one of gpusched's programs.
type program struct {
	name string
	api.VersionReply
}

func (c *VersionCmd) Run(ctx context.Context, a *cli.App) error {
	own := api.VersionReply{Schema: api.Schema, Version: cli.Version, Commit: cli.Commit, Go: runtime.Version()}
	doc := versionsDoc{Schema: api.Schema, Client: own}
	list := []program{{"gpusched", own}}
	var unreachable error
	if !c.Client {
		reply, err := api.Version(ctx, a.Client)
		if unreachable = err; err == nil {
			doc.Daemon = &reply
			list = append(list, program{a.Answers(), reply})
		}
	}
	err := cli.Report[program]{
		Doc: doc, Whole: true, Rows: list, Cols: versionColumns,
		IDs: job.Each(list, func(p program) string { return p.Version }),
		Text: func(bool) {
			for _, p := range list {
				a.Out.Printf("%s %s%s\n", p.name, term.Clean(p.Version), inBrackets(term.Clean(p.Commit)))
			}
		},
	}.Show(a, c.OutputFlags)
	if err == nil && doc.Daemon != nil && a.Answers() == cli.DaemonName && doc.Daemon.Version != cli.Version {
		a.Note("the scheduler runs another version than this program: " +
			"it was probably not restarted after an upgrade (systemctl restart gpusched; jobs go on)")
	}
	if err != nil {
		return err
	}
	return unreachable
}

func inBrackets(s string) string {
	if s == "" {
		return ""
	}
	return fmt.Sprintf(" (%s)", s)
}

var versionColumns = []term.Column[program]{
	{Key: "program", Cell: func(p program) string { return p.name }},
	{Key: "version", Cell: func(p program) string { return p.Version }},
	{Key: "commit", Cell: func(p program) string { return p.Commit }},
}
