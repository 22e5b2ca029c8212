package client

import (
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/gpusched/gpusched/cmd/gpusched/manual"
	"github.com/gpusched/gpusched/packaging/test/released"
)

// Scripts that were written for the last release still run: every command and option is there,
// under all its names, and an option that took a value takes one. A word with "=" takes a value.
func TestReleasedWords(t *testing.T) {
	var lines []string
	_ = kong.Visit(model(t), func(v kong.Visitable, next kong.Next) error {
		if n, ok := v.(*kong.Node); ok {
			words := slices.Clone(n.Aliases)
			for _, f := range n.Flags {
				words = append(words, optionWords(f)...)
			}
			lines = append(lines, manual.CommandPath(n)+": "+strings.Join(words, " "))
		}
		return next(nil)
	})
	released.Check(t, lines)
}

func optionWords(f *kong.Flag) (words []string) {
	value := "="
	if f.IsBool() {
		value = ""
	}
	for _, name := range append(slices.Clone(f.Aliases), f.Name) {
		words = append(words, "--"+name+value)
	}
	if f.Short != 0 {
		words = append(words, "-"+string(f.Short)+value)
	}
	if f.Tag.Negatable != "" {
		words = append(words, "--no-"+f.Name)
	}
	return words
}
