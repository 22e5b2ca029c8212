package parse

import (
	"github.com/alecthomas/kong"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
)

// Command is a command that declares an About.
type Command interface{ About() cli.About }

// AboutNode returns the declaration of a node's command, or of the group that the command is in.
func AboutNode(n *kong.Node) (about cli.About) {
	for ; n != nil; n = n.Parent {
		if c, ok := n.Target.Addr().Interface().(Command); ok {
			return c.About()
		}
	}
	return about
}
