package site

import (
	"context"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
)

// MCPCmd replaces this process with gpusched-mcp, the server for agents.
type MCPCmd struct {
	Write  bool `name:"write"`
	Others bool `name:"others"`
}

func (*MCPCmd) About() cli.About {
	return cli.About{
		Host: cli.OnlyHere, Hosts: cli.OneAtATime,
		Slurm: cli.NotForSlurm("it asks the scheduler of this machine",
			"'gpusched list --json' and the other commands can be run by an agent"),
	}
}

func (c *MCPCmd) Run(_ context.Context, a *cli.App) error {
	args, err := oursArgs(a)
	if err != nil {
		return err
	}
	if c.Write {
		args = append(args, "--write")
	}
	if c.Others {
		args = append(args, "--others")
	}
	return becomeOurs(a, "gpusched-mcp", args)
}
