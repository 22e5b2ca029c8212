package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	out, err := await.Output(ctx, buildLimit, []string{"go", "list", "-json=ImportPath,Dir,TestGoFiles,XTestGoFiles",
		"./..."})
	if err != nil {
		return nil, fmt.Errorf("list the packages: %w", err)
	}
	var all []target
	for dec := json.NewDecoder(strings.NewReader(out)); ; {
		var p struct {
			ImportPath, Dir           string
			TestGoFiles, XTestGoFiles []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("list the packages: %w", err)
		}
		for _, file := range slices.Concat(p.TestGoFiles, p.XTestGoFiles) {
			text, err := os.ReadFile(filepath.Join(p.Dir, file))
			if err != nil {
				return nil, err
			}
			for _, m := range fuzzFunc.FindAllStringSubmatch(string(text), -1) {
				all = append(all, target{p.ImportPath, p.Dir, m[1]})
			}
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
