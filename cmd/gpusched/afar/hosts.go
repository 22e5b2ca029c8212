package client

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched/remote"
	"github.com/gpusched/gpusched/daemon/api"
)

// cutHosts takes the option with the names of machines from the front of a command line, or has them from
// the environment where the command is one that shows several.
func (a *app) cutHosts(args []string) ([]string, error) {
	if !a.manyHosts(args) {
		return args, nil
	}
	list, err := a.goodHosts()
	rest := args
	given := len(args) > 0 && strings.HasPrefix(args[0], hostsFlag)
	if given {
		value, has := strings.CutPrefix(args[0], hostsFlag+"=")
		rest = args[1:]
		switch {
		case has:
			list = value
		case len(rest) == 0 || strings.HasPrefix(rest[0], "-"):
			return nil, refuse(api.CodeUsage, "such as: gpusched --hosts a,b,c list", "%s needs the names of machines", hostsFlag)
		default:
			list, rest = rest[0], rest[1:]
		}
	}
	if err != nil && !given {
		return nil, err
	}
	if a.own {
		return nil, usagef("%s asks your own scheduler of this machine, and %s those of others: use one of them", ownFlag, hostsFlag)
	}
	hosts, err := hostList(list)
	if err != nil {
		return nil, err
	}
	a.hosts, a.hostsGiven = hosts, given
	return rest, notOn(hostsFlag, rest)
}

// hostList reads names of machines with commas between them.
func hostList(list string) ([]string, error) {
	hosts, err := remote.Hosts(list)
	if err != nil {
		return nil, usagef("%v", err)
	}
	for _, h := range hosts {
		if _, _, ok := hostOf(h + ":1"); !ok {
			return nil, refuse(api.CodeUsage, "give the machine another name: a Host in ~/.ssh/config", "%q means something else in ids", h)
		}
	}
	return hosts, nil
}

// goodHosts are usualHosts, where a mistake in settings is told with its file.
func (a *app) goodHosts() (string, error) {
	list, err := a.usualHosts()
	if s := a.chosen; err == nil && s != nil && list == strings.Join(s.hosts, ",") {
		err = checkHosts(*s)
	}
	return list, err
}

// checkHosts checks the names of machines in settings.
func checkHosts(s chosen) error {
	for _, name := range s.hosts {
		if list, err := hostList(name); err != nil || len(list) != 1 {
			return refuse(api.CodeUsage, `hosts = ["a", "b"] has the name of one machine in each pair of quotation marks`,
				"%s: hosts: %q is not the name of a machine, as ssh has it", s.path, name)
		}
	}
	return nil
}

// hostAnswers begins the part of a document that is about the machines.
func hostAnswers[T any](hosts []string, answers []fetched[T]) []api.HostAnswer {
	list := make([]api.HostAnswer, len(hosts))
	for i, host := range hosts {
		list[i].Host = host
		if answers[i].err != nil {
			list[i].Error = wireError(answers[i].err)
		}
	}
	return list
}

// wireError is an error as it stands in a document.
func wireError(err error) *api.Error {
	var e *api.Error
	if errors.As(err, &e) {
		return &api.Error{Code: e.Code, Message: e.Message, Hint: e.Hint}
	}
	return &api.Error{Code: api.CodeInternal, Message: err.Error()}
}

// placed is a word for jobs, and the machine it is about; "": this one.
type placed struct{ host, word string }

// placedWords divides a word at the machines that it names: a:12,14,b:7_3,5 is 12,14 of a and 7_3,5 of b.
func placedWords(word string) (list []placed) {
	if strings.HasPrefix(word, "name:") {
		return []placed{{"", word}}
	}
	for part := range strings.SplitSeq(word, ",") {
		host, rest, named := hostOf(part)
		switch {
		case named && strings.HasPrefix(rest, "name:"):
			_, whole, _ := strings.Cut(word, host+":")
			return append(list, placed{host, whole}) // a name may have commas
		case named || len(list) == 0:
			list = append(list, placed{host, rest})
		default:
			list[len(list)-1].word += "," + part
		}
	}
	return list
}

// placesOf are the machines that words for jobs name, each once, "" for this one.
func placesOf(words []string) (hosts []string) {
	for _, w := range words {
		for _, p := range placedWords(w) {
			if !slices.Contains(hosts, p.host) {
				hosts = append(hosts, p.host)
			}
		}
	}
	return hosts
}

// machinesOf are they where this one is among several: ".", as another one.
func machinesOf(hosts []string) (list []string) {
	for _, h := range hosts {
		if h = cmp.Or(h, remote.Here); !slices.Contains(list, h) {
			list = append(list, h)
		}
	}
	return list
}
