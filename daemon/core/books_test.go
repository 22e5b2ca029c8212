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

// Core is a few books, and a book's fields are touched by its own methods alone.
func TestBooksAreClosed(t *testing.T) {
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
	fields, books := map[string][]string{}, map[string]string{} // of types; by the field of Core
	inspect(func(n ast.Node) bool {
		if s, ok := n.(*ast.TypeSpec); ok {
			if body, ok := s.Type.(*ast.StructType); ok {
				for _, f := range body.Fields.List {
					for _, name := range f.Names {
						fields[s.Name.Name] = append(fields[s.Name.Name], name.Name)
						if of, ok := f.Type.(*ast.Ident); ok && s.Name.Name == "Core" && of.Name != "Policy" {
							books[name.Name] = of.Name
						}
					}
				}
			}
		}
		return true
	})
	if n := len(fields["Core"]); n > 14 || len(books) < n-1 {
		t.Errorf("Core has %d fields, of which %d are books", n, len(books))
	}
	devices := map[string]bool{} // methods that return what the book of GPUs has inside
	inspect(func(n ast.Node) bool {
		if f, ok := n.(*ast.FuncDecl); ok && f.Recv != nil && f.Type.Results != nil {
			ast.Inspect(f.Type.Results, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok && slices.Contains([]string{"device", "departure", "part"}, id.Name) {
					devices[f.Name.Name] = true
				}
				return true
			})
		}
		return true
	})
	if !devices["byIndex"] {
		t.Error("the method that returns a device is not found")
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
			if of == "gpuBook" && devices[field.Sel.Name] {
				t.Errorf("%s.%s hands out a device", book.Sel.Name, field.Sel.Name)
			}
		}
		return true
	})
}
