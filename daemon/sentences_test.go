package daemon_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the present sentences into testdata/sentences.txt; read the difference aloud")

// unseenFolders matches the folders whose text no user sees.
var unseenFolders = regexp.MustCompile(`^(contrib|packaging|gpu/gputest|gpu/fakenvml|units/unittest|daemon/server/servertest)(/|$)`)

// twoWords matches two words in a row. Text without a match is not listed.
var twoWords = regexp.MustCompile(`[A-Za-z][A-Za-z']*[,;:]? [a-z(']`)

// code matches text that no user reads: SQL, shell, and the templates of web pages.
var code = regexp.MustCompile(`(?i)^\s*(select|insert|update|delete|create|with|where|pragma|alter|drop|from|on conflict)\b.*[=(*]|<[a-z!/]|\{\{|\$\(|function\b.*\{|[;{]\n`)

// TestEverySentenceIsListed compares everything that the programs say to people with a list. A person who
// changes or adds a sentence sees its neighbours in the list, and reviewers can read the list
// aloud. The texts of the manual and of options are not in it, since they have files of their own.
func TestEverySentenceIsListed(t *testing.T) {
	byFolder := map[string][]string{}
	goFiles(t, func(file string, _ []byte, _ *token.FileSet, syntax *ast.File) {
		folder := path.Dir(strings.TrimPrefix(file, "../"))
		if strings.HasSuffix(file, "_test.go") || unseenFolders.MatchString(folder) {
			return
		}
		ast.Inspect(syntax, func(n ast.Node) bool {
			if field, ok := n.(*ast.Field); ok {
				field.Tag = nil
			}
			if _, ok := n.(*ast.ImportSpec); ok {
				return false
			}
			text, ok := textOf(n)
			if ok && twoWords.MatchString(text) && !code.MatchString(text) {
				byFolder[folder] = append(byFolder[folder], text)
			}
			return !ok
		})
	})
	var b strings.Builder
	for _, folder := range slices.Sorted(maps.Keys(byFolder)) {
		fmt.Fprintf(&b, "# %s\n", folder)
		for _, text := range slices.Compact(slices.Sorted(slices.Values(byFolder[folder]))) {
			fmt.Fprintf(&b, "%s\n", strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n\t"))
		}
		b.WriteString("\n")
	}
	const golden = "testdata/sentences.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	listed := strings.Split(string(have), "\n")
	for line := range strings.SplitSeq(b.String(), "\n") {
		if !slices.Contains(listed, line) {
			t.Errorf("%s lacks: %s", golden, line)
		}
	}
	if n := strings.Count(b.String(), "\n"); n != strings.Count(string(have), "\n") {
		t.Errorf("%s has %d lines, not %d: run 'go test ./daemon -run TestEverySentenceIsListed -update'", golden, strings.Count(string(have), "\n"), n)
	}
}

// textOf returns the text of a string literal, or of string literals joined by +.
func textOf(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(n.Value)
		return text, n.Kind == token.STRING && err == nil
	case *ast.BinaryExpr:
		left, ok := textOf(n.X)
		right, ok2 := textOf(n.Y)
		return left + right, n.Op == token.ADD && ok && ok2
	}
	return "", false
}
