package client

import (
	"io"
	"testing"

	"github.com/gpusched/gpusched/cmd/gpusched/parse"
)

// BenchmarkNewParser measures how long it takes to make the parser: for one short command, and for
// the whole grammar.
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
