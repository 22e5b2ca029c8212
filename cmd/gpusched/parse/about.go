package parse

import (
	"github.com/alecthomas/kong"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
)

// Command is what has an About.
type Command interface{ About() cli.About }

// AboutNode is what the command of a node says about itself, or else the group that it is in.
func AboutNode(n *kong.Node) (about cli.About) {
	for ; n != nil; n = n.Parent {
		if c, ok := n.Target.Addr().Interface().(Command); ok {
			return c.About()
		}
	}
	return about
}
