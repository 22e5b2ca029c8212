package options

import (
	_ "embed"
	"strings"
	"sync"
)

//go:embed options.txt
var file string

// A Text says what an option does.
type Text struct {
	Help  string // in whole sentences
	Brief string // in a few words, for one line of --help
}

// Of returns the text of an option, such as "after-ok", of a command, such as "submit" or "gpu pause". It returns the
// zero Text if there is no such option.
func Of(command, option string) Text {
	if own, ok := texts()[command+" --"+option]; ok {
		return own
	}
	return texts()["--"+option]
}

// texts returns the paragraphs of the file by the command and option that each begins with; the command
// is empty in a text for all commands.
var texts = sync.OnceValue(func() map[string]Text {
	all := map[string]Text{}
	for paragraph := range strings.SplitSeq(file, "\n\n") {
		first, rest, _ := strings.Cut(paragraph, "\n")
		name, brief, _ := strings.Cut(first, ": ")
		t := Text{strings.Join(strings.Fields(rest), " "), brief}
		if brief == "" {
			t.Brief = strings.TrimSuffix(t.Help, ".")
		}
		commands, option, _ := strings.Cut(name, "--")
		for command := range strings.SplitSeq(commands, ",") {
			all[strings.TrimSpace(strings.TrimSpace(command)+" --"+option)] = t
		}
	}
	return all
})
