//go:build packages

package check

import (
	"bytes"
	"go/scanner"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestSpelling checks the words of comments, documents and the manual. A word must be in aspell's
// English dictionary, the glossary, the names in the code, or testdata/words.txt. That file has
// names of other programs and technical words.
func TestSpelling(t *testing.T) {
	known := map[string]bool{}
	for _, list := range []string{"testdata/words.txt", "../../contrib/GLOSSARY.md"} {
		text, err := os.ReadFile(list)
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range words.FindAllString(string(text), -1) {
			known[word] = true
		}
	}
	where, read := map[string]string{}, 0 // for each word, the first file that contains it
	note := func(path, text string) {
		read++
		for _, word := range words.FindAllString(quoted.ReplaceAllString(text, " "), -1) {
			word = strings.TrimSuffix(strings.Trim(word, "'"), "'s")
			if where[word] == "" {
				where[word] = path
			}
		}
	}
	for _, path := range strings.Fields(output(t, "git", "-C", "../..", "ls-files")) {
		text, err := os.ReadFile(filepath.Join("../..", path))
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case filepath.Ext(path) == ".go":
			readGo(path, text, known, note)
		case document.MatchString(path):
			note(path, roff.ReplaceAllString(string(text), " "))
		}
	}
	if read < 10000 {
		t.Fatalf("only %d texts were read", read)
	}
	cmd := exec.CommandContext(t.Context(), "aspell", "list", "--lang=en", "--ignore=2", "--encoding=utf-8")
	cmd.Stdin = strings.NewReader(strings.Join(slices.Sorted(maps.Keys(where)), "\n"))
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("aspell ('make deps' installs it): %v\n%s", err, said.String())
	}
	for word := range strings.FieldsSeq(string(out)) {
		if !known[word] {
			t.Errorf("%s: %q is no English word, name in the code, or word of the glossary or testdata/words.txt", where[word], word)
		}
	}
}

var (
	words    = regexp.MustCompile(`[A-Za-z][A-Za-z']*`)
	document = regexp.MustCompile(`\.(md|[1578])$|manual/text/.*\.txt$|options/options\.txt$`)
	// quoted matches text that is not prose: quoted text, paths, options, variables and addresses.
	quoted = regexp.MustCompile("`[^`]*`|'[^' ][^']*'|\"[^\"]*\"|\\S*[/_=.@%]\\S+|--?\\w[\\w-]*|\\$\\w+|\\\\\\S+")
	roff   = regexp.MustCompile(`(?m)^\.[A-Z]+|\\f[A-Z]|\\-|^( {4}|\t).*$`)
)

// readGo passes each comment of a Go file to the function check, and adds the words of the file's
// code to the known words.
func readGo(path string, text []byte, known map[string]bool, check func(path, text string)) {
	var s scanner.Scanner
	set := token.NewFileSet()
	s.Init(set.AddFile(path, set.Base(), len(text)), text, nil, scanner.ScanComments)
	for {
		_, tok, lit := s.Scan()
		switch tok {
		case token.EOF:
			return
		case token.COMMENT:
			check(path, lit)
		case token.IDENT, token.STRING:
			for _, word := range words.FindAllString(lit, -1) {
				known[word] = true
			}
		}
	}
}
