package core_test

import (
	"strconv"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// value returns the value of a key in the line, and whether the line has that key.
func (s *script) value(key string) (string, bool) {
	s.read[key] = true
	text, ok := s.args[key]
	return text, ok
}

func (s *script) text(key string) string { text, _ := s.value(key); return text }

func (s *script) has(key string) bool { _, ok := s.value(key); return ok }

func (s *script) num(key string, unset int) int {
	text, ok := s.value(key)
	if !ok {
		return unset
	}
	return mustParse(s, strconv.Atoi, text)
}

func (s *script) duration(key string) time.Duration {
	text, ok := s.value(key)
	if !ok {
		return 0
	}
	return mustParse(s, time.ParseDuration, text)
}

func (s *script) size(key string) int64 {
	text, ok := s.value(key)
	if !ok {
		return 0
	}
	return mustParse(s, job.ParseSize, text)
}

// mustParse parses the value of a key, and ends the script if the value is invalid.
func mustParse[T any](s *script, parse func(string) (T, error), text string) T {
	v, err := parse(text)
	if err != nil {
		s.t.Fatal(err)
	}
	return v
}
