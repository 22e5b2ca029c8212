package config

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"

	"github.com/gpusched/gpusched/daemon/job"
)

// defaultMemValue is auto, none or a size.
type defaultMemValue struct{ to *DefaultMem }

func (v defaultMemValue) parse(raw any) error {
	s, err := text(raw, `"16G"`)
	if err != nil {
		return err
	}
	m, err := parseDefaultMem(s)
	if err != nil {
		return err
	}
	return assign(defaultMemValue{&m}, v.to, m)
}

func (v defaultMemValue) check() error {
	switch m := *v.to; {
	case m.Kind == MemAuto || m.Kind == MemNone:
		return nil
	case m.Kind != MemFixed:
		return fmt.Errorf("%q is not auto, none or a size", m.Kind)
	case m.Bytes < 1<<20 || m.Bytes > job.MaxSize:
		return fmt.Errorf("%s is out of range: use 1M to 1024T", spellSize(m.Bytes))
	}
	return nil
}

func (v defaultMemValue) spell() string { return strconv.Quote(v.to.String()) }
func (v defaultMemValue) schema() shape {
	return shape{Type: "string", Form: "auto, none or a size", Pattern: `^(auto|none|[0-9.]+ ?[A-Za-z]+)$`}
}

// shareValue is a percentage or a size.
type shareValue struct{ to *Share }

func (v shareValue) parse(raw any) error {
	s, err := text(raw, `"5%"`)
	if err != nil {
		return err
	}
	share, err := parseShare(s)
	if err != nil {
		return err
	}
	return assign(shareValue{&share}, v.to, share)
}

func (v shareValue) check() error {
	s := *v.to
	if s.Bytes < 0 || s.Bytes > job.MaxSize || s.Percent < 0 || s.Percent > maxSharePercent || (s.Bytes > 0 && s.Percent > 0) {
		return fmt.Errorf("use either 0%% to %d%% or a size", maxSharePercent)
	}
	return nil
}

func (v shareValue) spell() string { return strconv.Quote(v.to.String()) }
func (v shareValue) schema() shape {
	return shape{Type: "string", Form: "a percentage or a size", Pattern: `^[0-9.]+ ?([A-Za-z]+|%)$`}
}

// sizeValue is a number of bytes, 0 included; with none, 0 is spelled none.
type sizeValue struct {
	to   *int64
	none bool
}

func (v sizeValue) parse(raw any) error {
	s, err := text(raw, `"512M"`)
	if err != nil {
		return err
	}
	var n int64
	if s != v.zero() {
		n, err = job.ParseSize(s)
		if err != nil && v.none {
			return fmt.Errorf("%w, or none", err)
		}
		if err != nil {
			return err
		}
	}
	*v.to = n
	return nil
}

func (v sizeValue) zero() string {
	if v.none {
		return "none"
	}
	return "0"
}

func (v sizeValue) check() error {
	if *v.to < 0 || *v.to > job.MaxSize {
		return fmt.Errorf("%d is out of range: use 0 to 1024T", *v.to)
	}
	return nil
}

func (v sizeValue) spell() string {
	if *v.to == 0 {
		return strconv.Quote(v.zero())
	}
	return strconv.Quote(spellSize(*v.to))
}

func (v sizeValue) schema() shape {
	if v.none {
		return shape{Type: "string", Form: "a size, or none", Pattern: `^(none|[0-9.]+ ?[A-Za-z]+)$`}
	}
	return shape{Type: "string", Form: "a size, or 0", Pattern: `^(0|[0-9.]+ ?[A-Za-z]+)$`}
}

// choiceValue is one of a few words.
type choiceValue[T ~string] struct {
	to    *T
	noun  string // such as "a mode"
	words []T
}

func (v choiceValue[T]) parse(raw any) error {
	s, err := text(raw, strconv.Quote(string(v.words[0])))
	if err != nil {
		return err
	}
	word := T(s)
	return assign(choiceValue[T]{&word, v.noun, v.words}, v.to, word)
}

func (v choiceValue[T]) check() error {
	if !slices.Contains(v.words, *v.to) {
		return fmt.Errorf("%q is not %s: use %s", string(*v.to), v.noun, strings.Join(v.list(), " or "))
	}
	return nil
}

func (v choiceValue[T]) list() []string {
	list := make([]string, len(v.words))
	for i, w := range v.words {
		list[i] = string(w)
	}
	return list
}

func (v choiceValue[T]) spell() string { return strconv.Quote(string(*v.to)) }
func (v choiceValue[T]) schema() shape {
	return shape{Type: "string", Form: strings.Join(v.list(), " or "), Enum: v.list()}
}

// levelValue is a level of slog's, in small letters.
type levelValue struct{ to *slog.Level }

func levels() []string { return []string{"debug", "info", "warn", "error"} }

func (v levelValue) parse(raw any) error {
	s, err := text(raw, `"info"`)
	if err != nil {
		return err
	}
	var level slog.Level
	if !slices.Contains(levels(), s) || level.UnmarshalText([]byte(s)) != nil {
		return fmt.Errorf("%q is not a level: use debug, info, warn or error", s)
	}
	*v.to = level
	return nil
}

func (v levelValue) check() error {
	if !slices.Contains(levels(), strings.ToLower(v.to.String())) {
		return errors.New("it is none of debug, info, warn and error")
	}
	return nil
}

func (v levelValue) spell() string { return strconv.Quote(strings.ToLower(v.to.String())) }
func (v levelValue) schema() shape {
	return shape{Type: "string", Form: "debug, info, warn or error", Enum: levels()}
}

// groupValue is the name of a group, or empty.
type groupValue struct{ to *string }

func (v groupValue) parse(raw any) error {
	s, err := text(raw, `"gpusched-admin"`)
	if err != nil {
		return err
	}
	return assign(groupValue{&s}, v.to, s)
}

func (v groupValue) check() error {
	if len(*v.to) > 256 || !job.Printable(*v.to) || strings.ContainsAny(*v.to, ":,/") {
		return fmt.Errorf("%q is not the name of a group", *v.to)
	}
	return nil
}

func (v groupValue) spell() string { return strconv.Quote(*v.to) }
func (v groupValue) schema() shape {
	return shape{Type: "string", Form: "the name of a group, or empty"}
}
