package client

import "context"

// mcpCmd becomes gpusched-mcp, which speaks to an agent.
type mcpCmd struct {
	Write  bool `name:"write"`
	Others bool `name:"others"`
}

func (*mcpCmd) About() About {
	return About{
		Host: OnlyHere, Hosts: OneAtATime,
		Slurm: NotForSlurm("it asks the scheduler of this machine",
			"'gpusched list --json' and the other commands can be run by an agent"),
	}
}

func (c *mcpCmd) Run(_ context.Context, a *app) error {
	args, err := a.oursArgs()
	if err != nil {
		return err
	}
	if c.Write {
		args = append(args, "--write")
	}
	if c.Others {
		args = append(args, "--others")
	}
	return a.becomeOurs("gpusched-mcp", args)
}
