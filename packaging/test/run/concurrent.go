package main

import (
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// raceless are packages of the programs that start goroutines in their tests only,
// to run worlds beside each other that share nothing.
var raceless = []string{"daemon/dst"}

// alone are dear tests of the other packages in which nothing runs beside anything:
// they read the sources, parse one line after another, or build a program, which has
// no detector. The race detector leaves them to the stage unit.
var alone = []string{
	"TestWeededPhrases", "TestHouseRules", "TestNamedTestsExist", "TestNoCgo", "TestImportTable", "TestTheClientStartsFast",
	"TestTheQuickProgramBecomesTheWhole", "TestTheShortParserAgrees", "TestTheShortParserAgreesOnForms", "FuzzCommandLine",
	"TestTourIsTyped", "TestExamplesAreTyped", "TestLinesAreShort", "TestAssignmentsAreShort",
}

// concurrent lists the packages of the programs in which something runs beside
// something else: their code or their tests start goroutines.
func concurrent(root string) ([]string, error) {
	var list []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		dir, name := filepath.Split(path)
		rel, _ := filepath.Rel(root, filepath.Clean(dir))
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (name[0] == '.' || rel == "." && (name == "packaging" || name == "contrib")):
			return fs.SkipDir
		case !strings.HasSuffix(name, ".go") || slices.Contains(raceless, rel) || slices.Contains(list, "./"+rel):
			return nil
		}
		if built, err := build.Default.MatchFile(dir, name); err != nil || !built {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err == nil && startsGoroutines(file) {
			list = append(list, "./"+rel)
		}
		return err
	})
	return list, err
}

// startsGoroutines looks for go statements, WaitGroup.Go and parallel tests in a file or a function.
func startsGoroutines(code ast.Node) (found bool) {
	ast.Inspect(code, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = true
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.SelectorExpr); ok && (f.Sel.Name == "Go" || f.Sel.Name == "Parallel") {
				found = true
			}
		}
		return !found
	})
	return found
}
