package job

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/units/contract"
)

// parseConstants parses this package and contract. It returns the values of all constants, by the
// name of their type. A constant that uses iota gets its name as value.
func parseConstants(t *testing.T) map[string][]string {
	t.Helper()
	own, err := filepath.Glob("*.go")
	theirs, err2 := filepath.Glob("../../units/contract/*.go")
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	found := map[string][]string{}
	for _, name := range slices.Concat(own, theirs) {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.CONST {
				collect(t, g, found)
			}
		}
	}
	return found
}

// collect adds the typed constants of one declaration.
func collect(t *testing.T, g *ast.GenDecl, found map[string][]string) {
	kind := ""
	for _, s := range g.Specs {
		spec := s.(*ast.ValueSpec)
		if len(spec.Values) > 0 { // without a value, the type is that of the constant before
			kind = ""
			if id, ok := spec.Type.(*ast.Ident); ok {
				kind = id.Name
			}
		}
		for i, name := range spec.Names {
			value := name.Name
			if i < len(spec.Values) {
				if lit, ok := spec.Values[i].(*ast.BasicLit); ok && lit.Kind == token.STRING {
					text, err := strconv.Unquote(lit.Value)
					if err != nil {
						t.Fatal(err)
					}
					value = text
				}
			}
			if kind != "" {
				found[kind] = append(found[kind], value)
			}
		}
	}
}

// asStrings converts a closed list to strings, as parseConstants returns them.
func asStrings[T ~string](list []T) []string {
	out := make([]string, len(list))
	for i, w := range list {
		out[i] = string(w)
	}
	return out
}

// A closed list contains all constants of a type. If it lacked one, a switch, a manual page or a
// filter would not know that constant.
func TestClosedListsAreComplete(t *testing.T) {
	found := parseConstants(t)
	classes := make([]string, 0, len(classNames))
	for _, name := range found["Class"] {
		if p, err := ParsePriority(strings.ToLower(name)); err == nil && p.String() == strings.ToLower(name) {
			classes = append(classes, name)
		}
	}
	for kind, list := range map[string][]string{
		"State": asStrings(States()), "GPUState": asStrings(GPUStates()), "Step": asStrings(contract.Steps()), "Class": classes,
	} {
		declared := slices.Clone(found[kind])
		slices.Sort(declared)
		slices.Sort(list)
		if len(declared) == 0 || !slices.Equal(declared, list) {
			t.Errorf("%s: declared %q, listed %q", kind, declared, list)
		}
	}
	if len(classNames) != len(found["Class"]) {
		t.Errorf("%d names for %d classes", len(classNames), len(found["Class"]))
	}
}

// No two constants of a type have the same value, and each value can be shown and typed.
func TestClosedWordsAreDistinct(t *testing.T) {
	found := parseConstants(t)
	for _, kind := range []string{"State", "ReasonCode", "GPUState", "Step", "RefusalKind", "EnvMode", "StopCause", "CommandKind", "Health"} {
		seen := map[string]bool{}
		for _, w := range found[kind] {
			if w == "" || !Printable(w) || strings.Contains(w, " ") || seen[w] {
				t.Errorf("%s: %q is empty, given twice or not a word", kind, w)
			}
			seen[w] = true
		}
		if len(seen) == 0 {
			t.Errorf("%s has no constants", kind)
		}
	}
}

// Validate accepts every declared mode of an environment.
func TestEveryEnvModeIsValid(t *testing.T) {
	for _, mode := range parseConstants(t)["EnvMode"] {
		s := validSubmission()
		s.Payload.EnvMode = contract.EnvMode(mode)
		if err := s.Validate(); err != nil {
			t.Errorf("%s: %v", mode, err)
		}
	}
}
