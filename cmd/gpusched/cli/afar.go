package cli

import (
	"slices"
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched/remote"
)

// FromAfar describes a command line that the gpusched of another machine has sent. It is about this
// machine alone, whatever the settings and --host say.
type FromAfar struct {
	Called   string // this machine's name over there, which ids and proposed commands are shown with
	Plain    bool   // ids without a machine are jobs of this one
	Labelled bool   // output names this machine, since it is shown next to that of other machines
	Document bool   // the answer is the command's JSON document, whatever form it asks for
	Job      *remote.NewJob
}

// Documents reports whether another gpusched wants the command's JSON document.
func (a *App) Documents() bool { return a.Asked != nil && a.Asked.Document }

// Called returns this machine's name where the command was typed; "" if that was here, or if the
// name is ".".
func (a *App) Called() string {
	if a.Asked == nil || a.Asked.Called == remote.Here && !a.Asked.Labelled {
		return ""
	}
	return a.Asked.Called
}

// OwnWords returns the words for jobs of this machine, without its name.
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

// withoutHost returns a word for jobs without the name that this machine has where it was typed.
func (a *App) withoutHost(word string) string {
	if a.Asked == nil {
		return word
	}
	parts := PlacedWords(word)
	if slices.ContainsFunc(parts, func(p hostWord) bool { return p.Host != "" && p.Host != a.Asked.Called }) {
		return word
	}
	return Joined(parts, ",", func(p hostWord) string { return p.word })
}

// HostName returns the name of a machine for a sentence.
func HostName(host string) string {
	if host == "" || host == "." {
		return "this one"
	}
	return host
}

// hostWord is a word for jobs and the machine that has them; "" is this one.
type hostWord struct{ Host, word string }

// PlacedWords splits a word at the machines that it names: a:12,14,b:7_3,5 becomes 12,14 of a, and
// 7_3,5 of b.
func PlacedWords(word string) (list []hostWord) {
	if strings.HasPrefix(word, "name:") {
		return []hostWord{{"", word}}
	}
	for part := range strings.SplitSeq(word, ",") {
		host, rest, named := HostOf(part)
		switch {
		case named && strings.HasPrefix(rest, "name:"):
			_, whole, _ := strings.Cut(word, host+":")
			return append(list, hostWord{host, whole}) // a name may have commas
		case named || len(list) == 0:
			list = append(list, hostWord{host, rest})
		default:
			list[len(list)-1].word += "," + part
		}
	}
	return list
}
