package config

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

// programsValue is a list of directories and patterns of programs.
type programsValue struct{ to *[]string }

// maxPrograms bounds what every submission is compared with.
const maxPrograms = 256

func (v programsValue) parse(raw any) error {
	list, ok := raw.([]any)
	if !ok {
		return wrongType(`a list of directories such as ["/srv/scripts"]`, raw)
	}
	var paths []string
	for _, item := range list {
		s, ok := item.(string)
		if !ok {
			return fmt.Errorf("must hold paths in quotes only")
		}
		if len(s) > 1 {
			s = strings.TrimSuffix(s, "/")
		}
		paths = append(paths, s)
	}
	return assign(programsValue{&paths}, v.to, paths)
}

func (v programsValue) check() error {
	if len(*v.to) > maxPrograms {
		return fmt.Errorf("lists %d paths, at most %d can be", len(*v.to), maxPrograms)
	}
	for i, p := range *v.to {
		_, bad := path.Match(p, "")
		switch {
		case !path.IsAbs(p) || path.Clean(p) != p || !shortPath(p):
			return fmt.Errorf("%q is not a plain absolute path", p)
		case bad != nil:
			return fmt.Errorf("%q is not a pattern: a [ needs its ]", p)
		case slices.Contains((*v.to)[:i], p):
			return fmt.Errorf("%q is listed twice", p)
		}
	}
	return nil
}

func (v programsValue) spell() string {
	parts := make([]string, len(*v.to))
	for i, s := range *v.to {
		parts[i] = strconv.Quote(s)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

func (v programsValue) schema() shape {
	return shape{Type: "array", Form: "a list of absolute paths", Items: &shape{Type: "string", Pattern: "^/"}}
}
