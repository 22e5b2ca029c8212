package client

import "context"

// mcpCmd becomes gpusched-mcp, which speaks to an agent.
type mcpCmd struct {
	Write  bool `name:"write"`
	Others bool `name:"others"`
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
