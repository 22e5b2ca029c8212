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
// to run simulated worlds side by side that share nothing.
var raceless = []string{"daemon/dst"}

// alone are expensive tests of the packages with goroutines that start none themselves:
// they read the sources, parse one line after another, build a program, which has no detector, look at pages in a
// browser, or have jobs in the Slurm of the tests, each command of which starts a program: that is ten times as dear
// under the detector. Only the stages without it run them.
var alone = []string{
	"TestWeededPhrases", "TestHouseRules", "TestNamedTestsExist", "TestNoCgo", "TestImportTable", "TestTheClientStartsFast",
	"FuzzCommandLine",
	"TestTourIsTyped", "TestExamplesAreTyped", "TestLinesAreShort", "TestAssignmentsAreShort",
	"TestBrowser", "TestBrowserScreens",
	"TestEnginesAnswerAlike", "TestWhatIsWaitedForStays", "TestRefusedJobsWait", "TestSlurmIsAway", "TestNotKnownIsHeld",
	"TestCutOffBeforeItWasQueued",
}

// goScripts are the scripts of cmd/gpusched that the race detector watches: their commands start goroutines. The others
// are left out, as the detector makes each start of a program ten times as dear.
var goScripts = []string{
	"doctor", "events", "hosts_dies", "logs", "run", "submit_file", "submit_log", "terminal", "top", "wait",
}

// scriptsDir is where those scripts are.
const scriptsDir = "cmd/gpusched/testdata/script"

// withoutRace is a pattern for -skip, for what the race detector does not watch in the packages with goroutines.
func withoutRace(root string) (string, error) {
	files, err := filepath.Glob(filepath.Join(root, scriptsDir, "*.txt"))
	if err != nil {
		return "", err
	}
	var scripts []string
	for _, file := range files {
		if name := strings.TrimSuffix(filepath.Base(file), ".txt"); !slices.Contains(goScripts, name) {
			scripts = append(scripts, name)
		}
	}
	return only(alone) + "|^TestScripts$/" + only(scripts), nil
}

// concurrent returns the packages of the programs whose code or tests start goroutines or need cgo, as the race
// detector does, and which of them need cgo.
func concurrent(root string) (race, cgo []string, err error) {
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		dir, name := filepath.Split(path)
		rel, _ := filepath.Rel(root, filepath.Clean(dir))
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (name[0] == '.' || rel == "." && (name == "packaging" || name == "contrib")):
			return fs.SkipDir
		case !strings.HasSuffix(name, ".go") || slices.Contains(raceless, rel):
			return nil
		}
		if built, err := build.Default.MatchFile(dir, name); err != nil || !built {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil // the compiler has better words for it
		}
		pkg, c := "./"+rel, needsCgo(file)
		if (startsGoroutines(file) || c) && !slices.Contains(race, pkg) {
			race = append(race, pkg)
		}
		if c && !slices.Contains(cgo, pkg) {
			cgo = append(cgo, pkg)
		}
		return nil
	})
	return race, cgo, err
}

// needsCgo reports whether a file imports NVIDIA's library, which is C, or our package around it.
func needsCgo(file *ast.File) bool {
	return slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool {
		return strings.Contains(i.Path.Value, "/go-nvml/") || strings.Contains(i.Path.Value, "/gpusched/gpu/nvml")
	})
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
