package client

import "context"

// mcpCmd becomes gpusched-mcp, which speaks to an agent.
type mcpCmd struct {
	Write  bool `name:"write" brief:"Also offer tools that change your jobs" help:"Also have tools that queue, change and cancel jobs, as you. Without it nothing can be changed."`
	Others bool `name:"others" brief:"With --write, for administrators: others' jobs too" help:"With --write, for administrators: act on other users' jobs, too. Those users choose the names and output that the agent reads."`
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
