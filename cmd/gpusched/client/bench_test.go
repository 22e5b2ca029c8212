package client

import (
	"io"
	"testing"

	"github.com/gpusched/gpusched/cmd/gpusched/parse"
)

// What a short command pays for its command line, and what it would pay for
// all of the grammar.
func BenchmarkNewParser(b *testing.B) {
	for name, args := range map[string][]string{"list": {"list"}, "submit": {"submit"}, "all": {"--help"}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := parse.New(grammarFor(args), io.Discard, func(int) {}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
