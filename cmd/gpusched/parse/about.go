package parse

import (
	"github.com/alecthomas/kong"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
)

// Command is a command that declares an About.
type Command interface{ About() cli.About }

// AboutNode returns the About of a node's command. If the command has none, it returns the About of
// the command's group.
func AboutNode(n *kong.Node) (about cli.About) {
	for ; n != nil; n = n.Parent {
		if c, ok := n.Target.Addr().Interface().(Command); ok {
			return c.About()
		}
	}
	return about
}
