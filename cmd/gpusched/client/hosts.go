package client

import (
	"reflect"
	"slices"
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched/afar"
	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/parse"
	"github.com/gpusched/gpusched/daemon/api"
)

// aboutWord returns the About of the command with this name. If there is no such command, it
// returns the zero About.
func aboutWord(word string) (about cli.About) {
	if f, known := commandField(word); known {
		if c, ok := reflect.New(f.Type).Interface().(parse.Command); ok {
			return c.About()
		}
	}
	return about
}

// manyHosts reports whether a command line is for other machines. --hosts selects the machines for
// any command. The environment and the settings select machines only for commands that show
// something. If one of the three has a mistake, cutHosts reports that mistake.
func manyHosts(a *cli.App, args []string) bool {
	if a.Asked != nil {
		return false
	}
	if len(args) > 0 && (args[0] == cli.HostsFlag || strings.HasPrefix(args[0], cli.HostsFlag+"=")) {
		return true
	}
	ours := a.As.Table == nil && a.As.Submitted == "" // other tools know a single scheduler
	said := a.Own || a.On != "" || slices.ContainsFunc(args, cli.SaysOn)
	if !ours || said || aboutWord(cli.WithCommand(args)[0]).Hosts != cli.Together {
		return false
	}
	list, err := afar.UsualHosts(a)
	return list != "" || err != nil
}

// cutHosts removes --hosts from the front of a command line and sets the machines. Without --hosts,
// the machines come from the environment or the settings.
func cutHosts(a *cli.App, args []string) ([]string, error) {
	if !manyHosts(a, args) {
		return args, nil
	}
	list, err := afar.CheckedHosts(a)
	rest := args
	given := len(args) > 0 && strings.HasPrefix(args[0], cli.HostsFlag)
	if given {
		value, has := strings.CutPrefix(args[0], cli.HostsFlag+"=")
		rest = args[1:]
		switch {
		case has:
			list = value
		case len(rest) == 0 || strings.HasPrefix(rest[0], "-"):
			return nil, cli.Refuse(api.CodeUsage, "such as: gpusched --hosts a,b,c list", "%s needs the names of machines", cli.HostsFlag)
		default:
			list, rest = rest[0], rest[1:]
		}
	}
	if err != nil && !given {
		return nil, err
	}
	if a.Own {
		return nil, cli.Usagef("%s is for your own scheduler on this machine, and %s for those of others: use only one", cli.OwnFlag, cli.HostsFlag)
	}
	hosts, err := afar.HostList(list)
	if err != nil {
		return nil, err
	}
	a.Hosts, a.HostsGiven = hosts, given
	return rest, cli.NotOn(cli.HostsFlag, rest)
}
