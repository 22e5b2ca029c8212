package released

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
)

var write = flag.Bool("released", false, "write what a release promises to keep; only for a release")

// Check checks that everything in testdata/released.txt, which the last release wrote, is still
// there. A line has a subject, a colon and words. Lines and words may be added. The flag -update
// changes nothing; -released writes the file.
func Check(t *testing.T, lines []string) {
	t.Helper()
	slices.Sort(lines)
	before := File(t, "testdata/released.txt", []byte(strings.Join(lines, "\n")+"\n"))
	now := map[string][]string{}
	for _, line := range lines {
		subject, words, _ := strings.Cut(line, ":")
		now[subject] = strings.Fields(words)
	}
	for line := range strings.Lines(string(before)) {
		subject, words, _ := strings.Cut(strings.TrimSpace(line), ":")
		have, ok := now[subject]
		if !ok {
			t.Errorf("%q is in the last release and not here: bring it back, or read 'Compatibility' in contrib/CONTRIBUTING.md", subject)
			continue
		}
		for word := range strings.FieldsSeq(words) {
			if !slices.Contains(have, word) {
				t.Errorf("%q had %q in the last release: bring it back, or read 'Compatibility' in contrib/CONTRIBUTING.md", subject, word)
			}
		}
	}
}

// File returns the contents of a file that the last release wrote. The flag -released writes the
// file with these contents.
func File(t *testing.T, path string, contents []byte) []byte {
	t.Helper()
	if *write {
		if err := os.WriteFile(path, contents, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	before, err := os.ReadFile(path)
	if err != nil || len(before) == 0 {
		t.Fatalf("%s has %d bytes, %v", path, len(before), err)
	}
	return before
}
