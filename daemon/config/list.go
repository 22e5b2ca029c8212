package config

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/gpusched/gpusched/daemon/job"
)

// fromList returns a function that reads lists. Its errors use two texts: example is an example of
// such a list, and noun is a word for its items.
func fromList[T, E any](example, noun string, item func(E) (T, bool)) func(any) ([]T, error) {
	return func(raw any) (list []T, err error) {
		items, ok := raw.([]any)
		if !ok {
			return nil, wrongType("a list of "+example, raw)
		}
		for _, raw := range items {
			e, ok := raw.(E)
			v, fits := item(e)
			if !ok || !fits {
				return nil, errors.New("must hold " + noun)
			}
			list = append(list, v)
		}
		return list, nil
	}
}

// listWriter returns a function that writes lists.
func listWriter[T any](write func(T) string) func([]T) string {
	return func(list []T) string {
		return "[" + strings.Join(job.Each(list, write), ", ") + "]"
	}
}

// gpuIndexes returns a setting that is a list of GPU indexes in ascending order.
func gpuIndexes(to *[]int) value {
	lo, hi := 0, job.MaxGPUs-1
	fits := func(n int64) (int, bool) { return int(n), n >= 0 && n <= int64(hi) }
	items := fromList("GPU indexes such as [0, 2]", fmt.Sprintf("GPU indexes only, numbers from 0 to %d without quotes", hi), fits)
	read := func(raw any) ([]int, error) {
		list, err := items(raw)
		slices.Sort(list)
		return list, err
	}
	wrong := func(list []int) error { return checkRepeated(list, "GPU %d") }
	form := shape{Type: "array", Form: "a list of numbers", Items: &shape{Type: "integer", Min: &lo, Max: &hi}}
	return setting[[]int]{to, read, wrong, listWriter(strconv.Itoa), form}
}

// checkRepeated returns an error if a number is repeated in a sorted list.
func checkRepeated(list []int, called string) error {
	for i, n := range list {
		if i > 0 && n == list[i-1] {
			return fmt.Errorf(called+" is listed twice", n)
		}
	}
	return nil
}

// paths describes settings that are lists of paths of one kind.
type paths struct {
	example, noun string
	most          int
	tidy          func(string) string // brings a path into its usual form; nil: paths stay as written
	wrong         func(string) error  // checks one path
	form          shape
}

// list returns a setting of the kind k.
func (k paths) list(to *[]string) value {
	read := fromList(k.example, "paths in quotes only", func(s string) (string, bool) {
		if k.tidy != nil {
			s = k.tidy(s)
		}
		return s, true
	})
	wrong := func(list []string) error {
		if len(list) > k.most {
			return fmt.Errorf("lists %d %s, at most %d are allowed", len(list), k.noun, k.most)
		}
		for i, p := range list {
			if err := k.wrong(p); err != nil {
				return err
			}
			if slices.Contains(list[:i], p) {
				return fmt.Errorf("%q is listed twice", p)
			}
		}
		return nil
	}
	return setting[[]string]{to, read, wrong, listWriter(strconv.Quote), k.form}
}

// maxDevices limits the number of devices, because each start of a job reads the whole list.
const maxDevices = 64

// deviceList returns a setting that is a list of device nodes.
func deviceList(dst *[]string) value {
	return paths{
		example: `device nodes such as ["/dev/nvidia-uvm"]`, noun: "devices", most: maxDevices,
		wrong: func(p string) error {
			switch {
			case !strings.HasPrefix(p, "/dev/") || filepath.Clean(p) != p || !shortPath(p):
				return fmt.Errorf("%q is not the path of a node in /dev", p)
			case strings.ContainsAny(p, "*?["):
				return fmt.Errorf("%q is a pattern: name each node", p)
			}
			return nil
		},
		form: shape{Type: "array", Form: "a list of paths in /dev", Items: &shape{Type: "string", Pattern: "^/dev/.+"}},
	}.list(dst)
}

// maxPrograms limits the number of entries, because every submission is compared with all of them.
const maxPrograms = 256

// programs returns a setting that is a list of directories and patterns of programs.
func programs(to *[]string) value {
	return paths{
		example: `directories such as ["/srv/scripts"]`, noun: "paths", most: maxPrograms,
		tidy: func(p string) string {
			if p == "/" {
				return p
			}
			return strings.TrimSuffix(p, "/")
		},
		wrong: func(p string) error {
			_, bad := path.Match(p, "")
			switch {
			case !path.IsAbs(p) || path.Clean(p) != p || !shortPath(p):
				return fmt.Errorf("%q is not a plain absolute path", p)
			case bad != nil:
				return fmt.Errorf("%q is not a pattern: a [ needs its ]", p)
			}
			return nil
		},
		form: shape{Type: "array", Form: "a list of absolute paths", Items: &shape{Type: "string", Pattern: "^/"}},
	}.list(to)
}

// someOf returns a setting that is a list of words, each at most once. Its errors use two texts:
// noun for one word, such as "a way to send messages", and plural for several.
func someOf[T ~string](dst *[]T, plural, noun string, words ...T) value {
	names := job.Each(words, func(w T) string { return string(w) })
	known := strings.Join(names, ", ")
	item := func(s string) (T, bool) { return T(s), true }
	read := fromList(fmt.Sprintf("%s such as [%q]", plural, names[0]), plural+" in quotes only: "+known, item)
	wrong := func(list []T) error {
		for i, w := range list {
			if !slices.Contains(words, w) {
				return fmt.Errorf("%q is not %s: use %s", string(w), noun, known)
			}
			if slices.Contains(list[:i], w) {
				return fmt.Errorf("%q is listed twice", string(w))
			}
		}
		return nil
	}
	form := shape{Type: "array", Form: "a list of " + known, Items: &shape{Type: "string", Enum: names}}
	write := listWriter(func(w T) string { return strconv.Quote(string(w)) })
	return setting[[]T]{dst, read, wrong, write, form}
}
