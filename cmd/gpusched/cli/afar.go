package cli

import (
	"slices"
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched/remote"
)

// FromAfar is a command line that comes from the gpusched of another machine. It is about this machine alone, whatever
// the settings and --host say.
type FromAfar struct {
	Called   string // what this machine is called there; ids and proposed commands are given with it
	Plain    bool   // ids that name no machine are of this one
	Labelled bool   // what is printed says whose it is: it is shown with that of other machines
	Document bool   // the answer is the document of the command, whatever form it has
	Job      *remote.NewJob
}

// Documents reports whether another gpusched wants the document of the command.
func (a *App) Documents() bool { return a.Asked != nil && a.Asked.Document }

// Called is what this machine is called where the command was typed; "": it was typed here, or is called ".".
func (a *App) Called() string {
	if a.Asked == nil || a.Asked.Called == remote.Here && !a.Asked.Labelled {
		return ""
	}
	return a.Asked.Called
}

// OwnWords are those of words for jobs that are about this machine, as it knows them.
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

// bare is a word for jobs without the name that this machine has where it was typed.
func (a *App) bare(word string) string {
	if a.Asked == nil {
		return word
	}
	parts := PlacedWords(word)
	if slices.ContainsFunc(parts, func(p placed) bool { return p.Host != "" && p.Host != a.Asked.Called }) {
		return word
	}
	return Joined(parts, ",", func(p placed) string { return p.word })
}

// HostName is a machine in a sentence.
func HostName(host string) string {
	if host == "" || host == "." {
		return "this one"
	}
	return host
}

// placed is a word for jobs, and the machine it is about; "": this one.
type placed struct{ Host, word string }

// PlacedWords divides a word at the machines that it names: a:12,14,b:7_3,5 is 12,14 of a and 7_3,5 of b.
func PlacedWords(word string) (list []placed) {
	if strings.HasPrefix(word, "name:") {
		return []placed{{"", word}}
	}
	for part := range strings.SplitSeq(word, ",") {
		host, rest, named := HostOf(part)
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
