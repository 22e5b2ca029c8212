package config

import (
	"fmt"
	"strconv"
)

// value reads and writes one setting of a Config.
type value interface {
	parse(raw any) error // takes a value from a TOML file; after an error the Config is unchanged
	spell() string       // returns the present value in the form that a file has
	schema() shape
}

// shape describes a value for the schema and the manual.
type shape struct {
	Type    string // type in JSON Schema
	Form    string // form in words, such as "a duration"
	Enum    []string
	Min     *int // limits of numbers
	Max     *int
	Pattern string
	Word    string // pattern of texts that are allowed in addition to Type
	Items   *shape
}

// setting is a value of type T. Its functions make the different kinds of settings.
type setting[T any] struct {
	to    *T
	read  func(raw any) (T, error)
	wrong func(T) error // returns what is wrong with a value
	write func(T) string
	form  shape
}

func (s setting[T]) parse(raw any) error {
	v, err := s.read(raw)
	if err == nil {
		err = s.wrong(v)
	}
	if err == nil {
		*s.to = v
	}
	return err
}

func (s setting[T]) spell() string { return s.write(*s.to) }
func (s setting[T]) schema() shape { return s.form }

// acceptAny accepts every value.
func acceptAny[T any](T) error { return nil }

// fromText returns a function that reads text in quotes. The argument example shows such a text.
func fromText[T any](example string, read func(string) (T, error)) func(any) (T, error) {
	return func(raw any) (v T, err error) {
		s, ok := raw.(string)
		if !ok {
			return v, wrongType("text in quotes such as "+example, raw)
		}
		return read(s)
	}
}

// asWritten returns s unchanged.
func asWritten[T ~string](s string) (T, error) { return T(s), nil }

// quotingWriter returns a function that writes text in quotes.
func quotingWriter[T any](write func(T) string) func(T) string {
	return func(v T) string { return strconv.Quote(write(v)) }
}

func plain[T ~string](s T) string { return string(s) }

func wrongType(want string, raw any) error {
	got := "a date or time"
	switch raw.(type) {
	case string:
		got = "text in quotes"
	case int64:
		got = "a number"
	case float64:
		got = "a number with a fraction"
	case bool:
		got = "true or false"
	case []any:
		got = "a list"
	case map[string]any:
		got = "a section"
	}
	return fmt.Errorf("must be %s, not %s", want, got)
}
