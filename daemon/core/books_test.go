package core

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Core consists of a few books, and only a book's own methods touch its fields. For books in other
// packages the compiler ensures that, so this test checks only the books in package core.
func TestOnlyABooksMethodsTouchItsFields(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var code []*ast.File
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		code = append(code, f)
	}
	inspect := func(visit func(ast.Node) bool) {
		for _, f := range code {
			ast.Inspect(f, visit)
		}
	}
	fields, books := map[string][]string{}, map[string]string{} // the fields of each type; the type of each book in Core
	inspect(func(n ast.Node) bool {
		if s, ok := n.(*ast.TypeSpec); ok {
			if body, ok := s.Type.(*ast.StructType); ok {
				for _, f := range body.Fields.List {
					for _, name := range f.Names {
						fields[s.Name.Name] = append(fields[s.Name.Name], name.Name)
						if of, ok := f.Type.(*ast.Ident); ok && (s.Name.Name == "lifecycle" || s.Name.Name == "state") {
							books[name.Name] = of.Name
						}
					}
				}
			}
		}
		return true
	})
	if n := len(fields["state"]); n > 12 {
		t.Errorf("state has %d fields", n)
	}
	methods := map[string]int{}
	inspect(func(n ast.Node) bool {
		if f, ok := n.(*ast.FuncDecl); ok && f.Recv != nil {
			if of, ok := f.Recv.List[0].Type.(*ast.StarExpr); ok {
				methods[of.X.(*ast.Ident).Name]++
			}
		}
		return true
	})
	for name, n := range methods {
		if n > 60 {
			t.Errorf("%s has %d methods", name, n)
		}
	}
	if len(books) < 2 {
		t.Errorf("the books of this package are not found: %v", books)
	}
	inspect(func(n ast.Node) bool {
		field, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if book, ok := field.X.(*ast.SelectorExpr); ok {
			of := books[book.Sel.Name]
			if slices.Contains(fields[of], field.Sel.Name) {
				t.Errorf("%s.%s is touched from outside of %s", book.Sel.Name, field.Sel.Name, of)
			}
		}
		return true
	})
}
