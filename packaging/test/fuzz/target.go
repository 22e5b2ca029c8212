package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/gpusched/gpusched/packaging/test/await"
)

// target is one fuzz test.
type target struct {
	pkg  string // import path
	dir  string
	name string
}

var fuzzFunc = regexp.MustCompile(`(?m)^func (Fuzz\w+)\(\w+ \*testing\.F\)`)

// targets finds the fuzz tests of all packages, or those of these names.
func targets(ctx context.Context, names []string) ([]target, error) {
	const files = "{{$p := .}}{{range .TestGoFiles}}{{$p.ImportPath}}\t{{$p.Dir}}\t{{.}}\n{{end}}" +
		"{{range .XTestGoFiles}}{{$p.ImportPath}}\t{{$p.Dir}}\t{{.}}\n{{end}}"
	out, err := await.Output(ctx, buildLimit, []string{"go", "list", "-f", files, "./..."})
	if err != nil {
		return nil, fmt.Errorf("list the packages: %w", err)
	}
	var all []target
	for line := range strings.Lines(out) {
		f := strings.Split(strings.TrimSpace(line), "\t")
		if len(f) != 3 {
			continue // the end of a package
		}
		text, err := os.ReadFile(filepath.Join(f[1], f[2]))
		if err != nil {
			return nil, err
		}
		for _, m := range fuzzFunc.FindAllStringSubmatch(string(text), -1) {
			all = append(all, target{f[0], f[1], m[1]})
		}
	}
	for _, name := range names {
		if !slices.ContainsFunc(all, func(t target) bool { return t.name == name }) {
			return nil, fmt.Errorf("there is no fuzz test %q", name)
		}
	}
	if len(names) > 0 {
		all = slices.DeleteFunc(all, func(t target) bool { return !slices.Contains(names, t.name) })
	}
	return all, nil
}
