package afar

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/remote"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/units/contract"
)

// HostList parses names of machines, separated by commas.
func HostList(list string) ([]string, error) {
	hosts, err := remote.Hosts(list)
	if err != nil {
		return nil, cli.Usagef("%v", err)
	}
	for _, h := range hosts {
		if _, _, ok := cli.HostOf(h + ":1"); !ok {
			return nil, cli.Refuse(api.CodeUsage, "give the machine another name: a Host in ~/.ssh/config", "%q means something else in ids", h)
		}
	}
	return hosts, nil
}

// CheckedHosts is like UsualHosts, but if the settings have a mistake, the error names the file.
func CheckedHosts(a *cli.App) (string, error) {
	list, err := UsualHosts(a)
	if s := a.Chosen; err == nil && s != nil && list == strings.Join(s.Hosts, ",") {
		err = CheckHosts(*s)
	}
	return list, err
}

func CheckHosts(s cli.Chosen) error {
	for _, name := range s.Hosts {
		if list, err := HostList(name); err != nil || len(list) != 1 {
			return cli.Refuse(api.CodeUsage, `hosts = ["a", "b"] has the name of one machine in each pair of quotation marks`,
				"%s: hosts: %q is not the name of a machine that ssh accepts", s.Path, name)
		}
	}
	return nil
}

// HostAnswers returns the part of a document that lists the machines.
func HostAnswers[T any](hosts []string, answers []Fetched[T]) []api.HostAnswer {
	list := make([]api.HostAnswer, len(hosts))
	for i, host := range hosts {
		list[i].Host = host
		if answers[i].Err != nil {
			list[i].Error = WireError(answers[i].Err)
		}
	}
	return list
}

// WireError converts an error to the form that a document has.
func WireError(err error) *api.Error {
	var e *api.Error
	if errors.As(err, &e) {
		return &api.Error{Code: e.Code, Message: e.Message, Hint: e.Hint}
	}
	return &api.Error{Code: api.CodeInternal, Message: err.Error()}
}

// HostsNamed returns the machines of the named jobs, without duplicates; "" is this machine.
func HostsNamed(words []string) (hosts []string) {
	for _, w := range words {
		for _, p := range cli.PlacedWords(w) {
			if !slices.Contains(hosts, p.Host) {
				hosts = append(hosts, p.Host)
			}
		}
	}
	return hosts
}

// MachinesOf replaces "" with ".", the name of this machine in a list. It removes duplicates.
func MachinesOf(hosts []string) (list []string) {
	for _, h := range hosts {
		if h = cmp.Or(h, remote.Here); !slices.Contains(list, h) {
			list = append(list, h)
		}
	}
	return list
}

// UsualHosts returns the machines, separated by commas, that are asked if no option names a
// machine. It reads the environment first, then the settings. The settings do not count if they
// select another engine, or if the environment names a scheduler's socket.
func UsualHosts(a *cli.App) (string, error) {
	list := a.Getenv(cli.HostsVariable)
	switch {
	case list == ".": // this machine, whatever the settings say
		return "", nil
	case list != "" || a.Getenv(contract.SocketVariable) != "":
		return list, nil
	}
	if engine, err := a.WhichEngine(); err != nil || engine != cli.EngineLocal {
		return "", err
	}
	s, err := a.Settings()
	return strings.Join(s.Hosts, ","), err
}
