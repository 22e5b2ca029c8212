package daemon_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// This table lists the packages that use codes and have no sentences.
var wordless = []string{"core", "core/*", "sched", "job"}

// typedWords lists the functions that may name an option or a command although their package is in
// the table wordless. They parse what a person typed, and their errors are shown to that person.
var typedWords = map[string]bool{"ParseID": true, "ParseGPUs": true, "ParseGPUList": true}

var optionOrCommand = regexp.MustCompile(`(^|[^-\w])--[a-z]|gpusched`)

// TestTheCoreNamesNoOption: the packages in the table wordless know nothing about the command line.
// They use codes, and package words has the sentences. Options are named only in the struct tags of
// a request.
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

// forPeople lists the fields with text for people.
var forPeople = map[string]bool{"Sentence": true, "Hint": true, "Message": true, "Detail": true, "Next": true, "Said": true}

// readers lists the functions that may examine a field with text for people, and what they examine.
var readers = map[string]string{
	"Misused":  "what the parser of the command line says, which has no codes",
	"planned":  "whether the words for a span begin with its kind",
	"isUnsure": "what Slurm's programs print, which has no codes",
	"Refused":  "what Slurm's programs print, which has no codes",
}

// TestNoProgramReadsASentence: whatever a program must distinguish, or show differently to
// different readers, is a code with arguments. A sentence is made only when it is shown, and no
// program examines it.
func TestNoProgramReadsASentence(t *testing.T) {
	excused := map[string]bool{}
	goFiles(t, func(path string, _ []byte, set *token.FileSet, file *ast.File) {
		if strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "units/") {
			return
		}
		for _, d := range file.Decls {
			f, isFunc := d.(*ast.FuncDecl)
			ast.Inspect(d, func(n ast.Node) bool {
				call, is := n.(*ast.CallExpr)
				if !is || !isFunc || !looksInto(call) {
					return true
				}
				if readers[f.Name.Name] == "" {
					t.Errorf("%s: %s looks into a sentence: have a code or a field say that", set.Position(n.Pos()), f.Name.Name)
				}
				excused[f.Name.Name] = true
				return true
			})
		}
	})
	for name := range readers {
		if !excused[name] {
			t.Errorf("%s looks into no sentence any more", name)
		}
	}
}

// looksInto reports whether a call searches or changes a field that is meant for people.
func looksInto(call *ast.CallExpr) bool {
	fun, is := call.Fun.(*ast.SelectorExpr)
	if !is {
		return false
	}
	pkg, _ := fun.X.(*ast.Ident)
	edits := pkg != nil && (pkg.Name == "strings" || pkg.Name == "regexp") && fun.Sel.Name != "Join" && fun.Sel.Name != "ToLower" ||
		strings.HasPrefix(fun.Sel.Name, "Replace") || strings.HasPrefix(fun.Sel.Name, "Find") || fun.Sel.Name == "MatchString"
	return edits && slices.ContainsFunc(call.Args, func(a ast.Expr) bool {
		s, is := a.(*ast.SelectorExpr)
		return is && forPeople[s.Sel.Name]
	})
}
