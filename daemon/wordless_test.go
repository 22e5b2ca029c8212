package daemon_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// wordless are the packages that say codes and no sentences.
var wordless = []string{"core", "core/*", "sched", "job"}

// typedWords are the functions there that may name an option or a command all
// the same: they read a word that somebody typed, who reads their error.
var typedWords = map[string]bool{"ParseID": true, "ParseGPUs": true, "ParseGPUList": true}

var optionOrCommand = regexp.MustCompile(`(^|[^-\w])--[a-z]|gpusched`)

// TestTheCoreNamesNoOption holds that the pure packages know nothing of the
// command line: what they have to say are codes, and package words has the
// sentences. The tags of a request are its options.
func TestTheCoreNamesNoOption(t *testing.T) {
	excused := map[string]bool{}
	for _, pkg := range wordless {
		files, err := filepath.Glob(pkg + "/*.go")
		if err != nil || len(files) == 0 {
			t.Fatal(pkg, err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range file.Decls {
				f, _ := d.(*ast.FuncDecl)
				ast.Inspect(d, func(n ast.Node) bool {
					switch n := n.(type) {
					case *ast.ImportSpec:
						return false
					case *ast.Field:
						n.Tag = nil
					case *ast.BasicLit:
						if n.Kind != token.STRING || !optionOrCommand.MatchString(n.Value) {
							break
						}
						if f != nil && typedWords[f.Name.Name] {
							excused[f.Name.Name] = true
						} else {
							t.Errorf("%s: %s names an option or a command: say a code, and give it a sentence in package words", set.Position(n.Pos()), n.Value)
						}
					}
					return true
				})
			}
		}
	}
	for name := range typedWords {
		if !excused[name] {
			t.Errorf("%s needs no excuse any more", name)
		}
	}
}
