package daemon_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	maxColumns = 120 // a tab counts as one column
	maxFields  = 3   // maximum number of fields that one statement may assign
)

// goFiles calls f for each Go file of the tree, with its path from the top and its syntax.
func goFiles(t *testing.T, f func(path string, text []byte, set *token.FileSet, file *ast.File)) {
	t.Helper()
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && path != ".." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata") {
			if err == nil {
				err = fs.SkipDir
			}
			return err
		}
		if d.IsDir() || filepath.Ext(path) != ".go" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, text, parser.ParseComments|parser.SkipObjectResolution)
		if err == nil {
			f(strings.TrimPrefix(path, "../"), text, set, file)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestLinesAreShort: a line of code has at most 120 columns, not counting the longest
// quoted text in it. Sentences and queries are not split, so that a search finds them.
// Longer lines are allowed in the rows of tables, and in tests, which consist of such rows.
func TestLinesAreShort(t *testing.T) {
	goFiles(t, func(path string, text []byte, set *token.FileSet, file *ast.File) {
		if strings.HasSuffix(path, "_test.go") {
			return
		}
		rows, quoted := tableRows(set, file), longestText(set, file)
		for i, line := range strings.Split(string(text), "\n") {
			if n := utf8.RuneCountInString(line) - quoted[i+1]; n > maxColumns && !rows[i+1] {
				t.Errorf("%s:%d has %d columns", path, i+1, n)
			}
		}
	})
}

// tableRows returns the lines that are rows of a table.
// A table is a literal with each element on a line of its own.
func tableRows(set *token.FileSet, file *ast.File) map[int]bool {
	rows := map[int]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		table, ok := n.(*ast.CompositeLit)
		if !ok || len(table.Elts) < 2 || !isTable(table) {
			return true
		}
		for line := set.Position(table.Lbrace).Line + 1; line < set.Position(table.Rbrace).Line; line++ {
			rows[line] = true
		}
		return true
	})
	return rows
}

// longestText returns the length of the longest quoted text on each line.
func longestText(set *token.FileSet, file *ast.File) map[int]int {
	longest := map[int]int{}
	ast.Inspect(file, func(n ast.Node) bool {
		if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING {
			line := set.Position(text.Pos()).Line
			longest[line] = max(longest[line], utf8.RuneCountInString(text.Value))
		}
		return true
	})
	return longest
}

// isTable reports whether a literal is a map, a list of structs, or a list with indexes.
func isTable(lit *ast.CompositeLit) bool {
	switch lit.Type.(type) {
	case *ast.MapType:
		return true
	case *ast.ArrayType:
		return slices.ContainsFunc(lit.Elts, func(e ast.Expr) bool {
			switch e.(type) {
			case *ast.CompositeLit, *ast.KeyValueExpr:
				return true
			}
			return false
		})
	}
	return false
}

// TestAssignmentsAreShort: no statement assigns many fields at once,
// which is hard to read and hard to change.
func TestAssignmentsAreShort(t *testing.T) {
	goFiles(t, func(path string, _ []byte, set *token.FileSet, file *ast.File) {
		ast.Inspect(file, func(n ast.Node) bool {
			a, ok := n.(*ast.AssignStmt)
			if !ok || len(a.Lhs) <= maxFields {
				return true
			}
			fields := 0
			for _, l := range a.Lhs {
				if _, is := l.(*ast.SelectorExpr); is {
					fields++
				}
			}
			if fields > maxFields {
				t.Errorf("%s:%d assigns %d fields in one statement", path, set.Position(a.Pos()).Line, fields)
			}
			return true
		})
	})
}
