package client

import (
	"context"
	"fmt"
	"runtime"

	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
)

// versionCmd shows versions.
type versionCmd struct {
	Client bool `name:"client"`
	outputFlags
}

func (*versionCmd) About() About { return About{Host: RunThere, Hosts: InTurn, Slurm: ForSlurm} }

// versionsDoc is the document of this command. Daemon is absent where it was
// not asked or did not answer.
type versionsDoc struct {
	Schema string            `json:"schema"`
	Client api.VersionReply  `json:"client"`
	Daemon *api.VersionReply `json:"daemon,omitempty"`
}

// daemonName is what answers, where no other engine does.
const daemonName = "gpuschedd"

// program is one program and its version.
type program struct {
	name string
	api.VersionReply
}

func (c *versionCmd) Run(ctx context.Context, a *app) error {
	own := api.VersionReply{Schema: api.Schema, Version: version, Commit: commit, Go: runtime.Version()}
	doc := versionsDoc{Schema: api.Schema, Client: own}
	list := []program{{"gpusched", own}}
	var unreachable error
	if !c.Client {
		reply, err := api.Version(ctx, a.client)
		if unreachable = err; err == nil {
			doc.Daemon = &reply
			list = append(list, program{a.answers(), reply})
		}
	}
	err := report[program]{
		doc: doc, whole: true, rows: list, cols: versionColumns,
		ids: each(list, func(p program) string { return p.Version }),
		text: func(bool) {
			for _, p := range list {
				a.out.Printf("%s %s%s\n", p.name, term.Clean(p.Version), inBrackets(term.Clean(p.Commit)))
			}
		},
	}.show(a, c.outputFlags)
	if err == nil && doc.Daemon != nil && a.answers() == daemonName && doc.Daemon.Version != version {
		a.note("the scheduler runs another version than this program: " +
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
