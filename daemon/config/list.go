package config

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/gpusched/gpusched/daemon/job"
)

// indexesValue is a list of GPU indexes, kept ascending.
type indexesValue struct{ to *[]int }

func (v indexesValue) parse(raw any) error {
	list, ok := raw.([]any)
	if !ok {
		return wrongType("a list of GPU indexes such as [0, 2]", raw)
	}
	var indexes []int
	for _, item := range list {
		n, ok := item.(int64)
		if !ok || n < 0 || n >= job.MaxGPUs {
			return fmt.Errorf("must hold GPU indexes only, numbers from 0 to %d without quotes", job.MaxGPUs-1)
		}
		indexes = append(indexes, int(n))
	}
	slices.Sort(indexes)
	return assign(indexesValue{&indexes}, v.to, indexes)
}

func (v indexesValue) check() error {
	for i, n := range *v.to {
		if n < 0 || n >= job.MaxGPUs {
			return fmt.Errorf("%d is not a GPU index", n)
		}
		if i > 0 && n == (*v.to)[i-1] {
			return fmt.Errorf("GPU %d is listed twice", n)
		}
		if i > 0 && n < (*v.to)[i-1] {
			return fmt.Errorf("GPU %d is not in ascending order", n)
		}
	}
	return nil
}

func (v indexesValue) spell() string {
	parts := make([]string, len(*v.to))
	for i, n := range *v.to {
		parts[i] = strconv.Itoa(n)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

func (v indexesValue) schema() shape {
	lo, hi := 0, job.MaxGPUs-1
	return shape{Type: "array", Form: "a list of numbers", Items: &shape{Type: "integer", Min: &lo, Max: &hi}}
}

// devicesValue is a list of device nodes.
type devicesValue struct{ to *[]string }

// maxDevices bounds what every start of a job looks at.
const maxDevices = 64

func (v devicesValue) parse(raw any) error {
	list, ok := raw.([]any)
	if !ok {
		return wrongType(`a list of device nodes such as ["/dev/nvidia-uvm"]`, raw)
	}
	var paths []string
	for _, item := range list {
		s, ok := item.(string)
		if !ok {
			return fmt.Errorf("must hold paths in quotes only")
		}
		paths = append(paths, s)
	}
	return assign(devicesValue{&paths}, v.to, paths)
}

func (v devicesValue) check() error {
	if len(*v.to) > maxDevices {
		return fmt.Errorf("lists %d devices, at most %d can be", len(*v.to), maxDevices)
	}
	for i, path := range *v.to {
		switch {
		case !strings.HasPrefix(path, "/dev/") || filepath.Clean(path) != path || !shortPath(path):
			return fmt.Errorf("%q is not the path of a node in /dev", path)
		case strings.ContainsAny(path, "*?["):
			return fmt.Errorf("%q is a pattern: name each node", path)
		case slices.Contains((*v.to)[:i], path):
			return fmt.Errorf("%q is listed twice", path)
		}
	}
	return nil
}

func (v devicesValue) spell() string {
	parts := make([]string, len(*v.to))
	for i, s := range *v.to {
		parts[i] = strconv.Quote(s)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

func (v devicesValue) schema() shape {
	return shape{Type: "array", Form: "a list of paths in /dev", Items: &shape{Type: "string", Pattern: "^/dev/.+"}}
}

// pathOrNone is an absolute path, or empty.
type pathOrNone struct{ to *string }

func (v pathOrNone) parse(raw any) error {
	s, err := text(raw, `"/usr/lib/libnvidia-ml.so.1"`)
	if err != nil {
		return err
	}
	return assign(pathOrNone{&s}, v.to, s)
}

func (v pathOrNone) check() error {
	if *v.to != "" && (!filepath.IsAbs(*v.to) || filepath.Clean(*v.to) != *v.to || !shortPath(*v.to)) {
		return fmt.Errorf("%q is not a plain absolute path", *v.to)
	}
	return nil
}

func (v pathOrNone) spell() string { return strconv.Quote(*v.to) }
func (v pathOrNone) schema() shape {
	return shape{Type: "string", Form: "an absolute path, or empty", Pattern: "^(/.*)?$"}
}

// templateOrNone is a systemd template unit.
type templateOrNone struct{ to *string }

var templateUnit = regexp.MustCompile(`^[A-Za-z0-9:_.-]{1,200}@\.(service|target)$`)

func (v templateOrNone) parse(raw any) error {
	s, err := text(raw, `"gpusched-alert@.service"`)
	if err != nil {
		return err
	}
	return assign(templateOrNone{&s}, v.to, s)
}

func (v templateOrNone) check() error {
	if *v.to != "" && !templateUnit.MatchString(*v.to) {
		return fmt.Errorf("%q is not the name of a template unit, such as gpusched-alert@.service", *v.to)
	}
	return nil
}

func (v templateOrNone) spell() string { return strconv.Quote(*v.to) }
func (v templateOrNone) schema() shape {
	return shape{Type: "string", Form: "a template unit, or empty", Pattern: "^([A-Za-z0-9:_.-]{1,200}@\\.(service|target))?$"}
}

// shortPath reports whether the kernel would take the path and a terminal show
// it.
func shortPath(path string) bool { return len(path) < 4096 && job.Printable(path) }
