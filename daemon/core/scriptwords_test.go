package core_test

import (
	"strconv"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// word returns the value of a word of the line, and whether the line has it.
func (s *script) word(key string) (string, bool) {
	s.read[key] = true
	text, ok := s.args[key]
	return text, ok
}

func (s *script) text(key string) string { text, _ := s.word(key); return text }

func (s *script) has(key string) bool { _, ok := s.word(key); return ok }

func (s *script) num(key string, unset int) int {
	text, ok := s.word(key)
	if !ok {
		return unset
	}
	return must(s, strconv.Atoi, text)
}

func (s *script) duration(key string) time.Duration {
	text, ok := s.word(key)
	if !ok {
		return 0
	}
	return must(s, time.ParseDuration, text)
}

func (s *script) size(key string) int64 {
	text, ok := s.word(key)
	if !ok {
		return 0
	}
	return must(s, job.ParseSize, text)
}

// This function parses the value of a word, and ends the script if the value is invalid.
func must[T any](s *script, parse func(string) (T, error), text string) T {
	v, err := parse(text)
	if err != nil {
		s.t.Fatal(err)
	}
	return v
}
