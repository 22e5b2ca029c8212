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
	Help  string // the text in whole sentences
	Brief string // the text in a few words, for a line of --help
}

// Of returns the text of an option, such as "after-ok", for a command, such as "submit" or "gpu
// pause". If there is no such option, it returns the zero Text.
func Of(command, option string) Text {
	if own, ok := texts()[command+" --"+option]; ok {
		return own
	}
	return texts()["--"+option]
}

// texts maps a command and an option to the text. In options.txt, each paragraph begins with the
// command and the option. If a text is for all commands, the command is empty.
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
