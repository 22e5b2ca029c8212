package client

import (
	"slices"
	"strings"

	"github.com/gpusched/gpusched/units/contract"
)

// hostsFlag, before the command, names machines that are asked by ssh; the variable does so for
// commands that show something and name no job.
const (
	hostsFlag     = "--hosts"
	hostsVariable = "GPUSCHED_HOSTS"
)

// hostOf divides a word such as a:12 into the machine and what is meant there. A word of this machine,
// as 12 or name:fold, is left whole.
func hostOf(word string) (host, rest string, named bool) {
	host, rest, named = strings.Cut(word, ":")
	odd := func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-@", r))
	}
	if !named || host == "" || host == "name" || host == "slurm" || strings.ContainsFunc(host, odd) {
		return "", word, false
	}
	return host, rest, true
}

// manyHosts reports whether a command line asks several machines, or another one: by the option in front
// or, for what shows something, by the environment or the settings. A mistake in these is for cutHosts to tell.
func (a *app) manyHosts(args []string) bool {
	if a.asked != nil {
		return false
	}
	if len(args) > 0 && (args[0] == hostsFlag || strings.HasPrefix(args[0], hostsFlag+"=")) {
		return true
	}
	ours := a.as.table == nil && a.as.submitted == "" // other tools' names know one scheduler
	said := a.own || a.on != "" || slices.ContainsFunc(args, saysOn)
	if !ours || said || aboutWord(withCommand(args)[0]).Hosts != Together {
		return false
	}
	list, err := a.usualHosts()
	return list != "" || err != nil
}

// usualHosts are the machines that are asked where no option says who is, with commas between them: by the environment,
// else by the settings, unless those are about another engine, or somebody names a scheduler's socket.
func (a *app) usualHosts() (string, error) {
	list := a.getenv(hostsVariable)
	switch {
	case list == ".": // this one, whatever the settings say
		return "", nil
	case list != "" || a.getenv(contract.SocketVariable) != "":
		return list, nil
	}
	if engine, err := a.whichEngine(); err != nil || engine != engineLocal {
		return "", err
	}
	s, err := a.settings()
	return strings.Join(s.hosts, ","), err
}

// nameAt is what a job or GPU of another machine is called here.
func nameAt(host, name string) string {
	if host == "" {
		return name
	}
	return host + ":" + name
}
