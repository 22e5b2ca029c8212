package manual

import (
	"embed"
	"regexp"
	"strings"
	"sync"

	"github.com/alecthomas/kong"

	"github.com/gpusched/gpusched/cmd/gpusched/options"
	"github.com/gpusched/gpusched/daemon/job"
)

// texts are what is not about a single option: a file for each command, named
// like its page; topics.txt, the further sections of gpusched(1); tour.txt,
// gpusched(7); policy.txt, gpusched-policy(7); and parts that others name in brackets.
//
//go:embed text
var texts embed.FS

// Describe gives each command below the node the text under its options, and each option its text.
func Describe(n *kong.Node) {
	for _, f := range n.Flags {
		if text := OfOption(n, f); text.Help != "" {
			f.Help = text.Help
		}
	}
	if len(n.Children) == 0 {
		n.Detail = text(strings.TrimPrefix(pageName(n), "gpusched-"))
	}
	for _, child := range n.Children {
		Describe(child)
	}
}

// OfOption is what there is to say of an option of a command, or of the program.
func OfOption(n *kong.Node, f *kong.Flag) options.Text {
	return options.Of(strings.TrimPrefix(CommandPath(n), "gpusched "), f.Name)
}

// text returns the text of a file, "" where there is none. A paragraph of the file
// is lines, and one long line here; what is indented by four is left alone.
func text(name string) string {
	if name == "states" {
		return stateNames()
	}
	file, _ := texts.ReadFile("text/" + name + ".txt")
	blocks := strings.Split(strings.Trim(string(file), "\n"), "\n\n")
	for i, block := range blocks {
		if !strings.HasPrefix(block, "    ") {
			blocks[i] = strings.ReplaceAll(block, "\n", " ")
		}
	}
	return parts().ReplaceAllStringFunc(strings.Join(blocks, "\n\n"), func(part string) string {
		return text(strings.Trim(part, "[]"))
	})
}

// parts are the names in brackets.
var parts = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\[(ids|moments|several|states)\]`)
})

func stateNames() string {
	var names []string
	for _, s := range job.States() {
		names = append(names, string(s))
	}
	return strings.Join(names, ", ")
}

// sections are those of a text that has several, each with a title.
func sections(name string) (list []Entry) {
	for section := range strings.SplitSeq(strings.TrimPrefix(text(name), "# "), "\n\n# ") {
		title, about, _ := strings.Cut(section, "\n\n")
		list = append(list, Entry{title, about})
	}
	return list
}
