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

// texts contains the texts that are about more than one option. Each command has a file with the
// name of its page. topics.txt has further sections of gpusched(1), and the directory tables has
// the tables of gpusched(1). tour.txt is gpusched(7), and policy.txt is gpusched-policy(7). The
// remaining files are parts of texts. Another text includes such a part by its name in brackets.
//
//go:embed text
var texts embed.FS

// Describe adds this package's texts to the grammar: one for each command below the node, and one
// for each option.
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

// OfOption returns the text of an option of a command, or of the program.
func OfOption(n *kong.Node, f *kong.Flag) options.Text {
	return options.Of(strings.TrimPrefix(CommandPath(n), "gpusched "), f.Name)
}

// text returns the text of a file, or "" if there is no such file. It joins the lines of each
// paragraph. A block that is indented by four blanks stays unchanged.
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

// This pattern matches a name in brackets, which is replaced with the text of that name.
var parts = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\[(ids|moments|several|states)\]`)
})

func stateNames() string {
	return strings.Join(job.Each(job.States(), func(s job.State) string { return string(s) }), ", ")
}

// splitSections splits a text into sections. Each has a title.
func splitSections(name string) (list []Entry) {
	for section := range strings.SplitSeq(strings.TrimPrefix(text(name), "# "), "\n\n# ") {
		title, about, _ := strings.Cut(section, "\n\n")
		list = append(list, Entry{title, about})
	}
	return list
}
