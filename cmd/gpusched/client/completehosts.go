package client

import (
	"path/filepath"
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/jobenv"
	"github.com/gpusched/gpusched/cmd/gpusched/remote"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
)

// withoutHosts removes --hosts and its value from the front of a command line. It returns nil while
// the user is still typing the value.
func withoutHosts(args []string) []string {
	if args[0] != cli.HostsFlag {
		return args[1:]
	}
	return args[min(2, len(args)):]
}

// completeHosts prints the candidates for the value of --hosts if the user is typing that value.
func completeHosts(a *cli.App, args []string) {
	before, current := "", args[len(args)-1]
	switch {
	case len(args) == 2 && args[0] == cli.HostsFlag:
	case len(args) == 1:
		var has bool
		if current, has = strings.CutPrefix(current, cli.HostsFlag+"="); !has {
			return
		}
		before = cli.HostsFlag + "="
	default:
		return
	}
	if i := strings.LastIndexByte(current, ','); i >= 0 {
		before, current = before+current[:i+1], current[i+1:]
	}
	for _, c := range hostWords(a, before) {
		if strings.HasPrefix(c.word, before+current) {
			a.Out.Printf("%s\t%s\n", term.Clean(c.word), term.Clean(c.about))
		}
	}
}

// hostWords returns the machines in the user's ssh configuration.
func hostWords(a *cli.App, before string) (list []candidate) {
	text, _ := jobenv.ReadAtMost(filepath.Join(a.Getenv("HOME"), ".ssh/config"), 1<<20)
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) < 2 || !strings.EqualFold(words[0], "Host") {
			continue
		}
		for _, name := range words[1:] {
			if remote.Check(name) == nil {
				list = append(list, candidate{before + name, ""})
			}
		}
	}
	return append(list, candidate{before + remote.Here, "this machine"})
}
