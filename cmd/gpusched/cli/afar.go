package cli

import (
	"slices"
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched/remote"
)

// FromAfar describes a command line that another machine's gpusched has sent here. Such a command
// line is about this machine only. Neither the settings nor --host can change that.
type FromAfar struct {
	Called   string // the sender's name for this machine; ids and proposed commands are shown with it
	Plain    bool   // ids that name no machine are jobs of this machine
	Labelled bool   // the output names this machine, since it is shown next to other machines' output
	Document bool   // answer with the JSON document, whatever output format the command line asks for
	Job      *remote.NewJob
}

// Documents reports whether another gpusched asked for the command's JSON document.
func (a *App) Documents() bool { return a.Asked != nil && a.Asked.Document }

// Called returns the name that this machine has where the command was typed. It is "" if the
// command was typed here, or if the name is ".".
func (a *App) Called() string {
	if a.Asked == nil || a.Asked.Called == remote.Here && !a.Asked.Labelled {
		return ""
	}
	return a.Asked.Called
}

// OwnWords returns the job ids and names that mean this machine's jobs, without the machine's name.
func (q *FromAfar) OwnWords(words []string) (list []string) {
	for _, w := range words {
		var mine []string
		for _, p := range PlacedWords(w) {
			if p.Host == q.Called || p.Host == "" && q.Plain {
				mine = append(mine, p.word)
			}
		}
		if len(mine) > 0 {
			list = append(list, strings.Join(mine, ","))
		}
	}
	return list
}

// withoutHost removes this machine's name from a specification of jobs. The name is the one used
// where the command was typed.
func (a *App) withoutHost(spec string) string {
	if a.Asked == nil {
		return spec
	}
	parts := PlacedWords(spec)
	if slices.ContainsFunc(parts, func(p hostWord) bool { return p.Host != "" && p.Host != a.Asked.Called }) {
		return spec
	}
	return Joined(parts, ",", func(p hostWord) string { return p.word })
}

// HostName returns the name of a machine for use in a sentence.
func HostName(host string) string {
	if host == "" || host == "." {
		return "this one"
	}
	return host
}

// A hostWord is an argument that names jobs, split into the machine that has these jobs ("" is this
// machine) and the rest.
type hostWord struct{ Host, word string }

// PlacedWords splits a word by the machines in it: a:12,14,b:7_3,5 becomes 12,14 of machine a, and
// 7_3,5 of machine b.
func PlacedWords(word string) (list []hostWord) {
	if strings.HasPrefix(word, "name:") {
		return []hostWord{{"", word}}
	}
	for part := range strings.SplitSeq(word, ",") {
		host, rest, named := HostOf(part)
		switch {
		case named && strings.HasPrefix(rest, "name:"):
			_, whole, _ := strings.Cut(word, host+":")
			return append(list, hostWord{host, whole}) // a job's name may contain commas
		case named || len(list) == 0:
			list = append(list, hostWord{host, rest})
		default:
			list[len(list)-1].word += "," + part
		}
	}
	return list
}
