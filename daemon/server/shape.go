package server

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"strconv"
	"strings"

	"github.com/gpusched/gpusched/daemon/job"
)

// shapeOf returns a key. Commands with the same key probably run equally long. These are commands
// of one user that differ only in their numbers. The key is a hash, so that no part of a command
// stays in the scheduler's memory. All tasks of an array have one key, made from the submitted
// command with the {names} of its parameters. An array waits as one entry with one expected run
// time, so a key for each value would not change which task is next. To distinguish models of
// different sizes, users submit an array for each size.
func shapeOf(uid int, argv []string) string {
	h := newShape("shape", uid)
	for _, arg := range argv {
		io.WriteString(h, withoutNumbers(arg))
		h.Write([]byte{0})
	}
	return shortSum(h)
}

// withoutNumbers replaces each sequence of digits with "#".
func withoutNumbers(s string) string {
	var b strings.Builder
	digits := false
	for i := range len(s) {
		digit := s[i] >= '0' && s[i] <= '9'
		switch {
		case !digit:
			b.WriteByte(s[i])
		case !digits:
			b.WriteByte('#')
		}
		digits = digit
	}
	return b.String()
}

// scriptOf returns a key for commands of one user that run the same program.
// If the program is an interpreter, they also run the same script.
func scriptOf(uid int, argv []string) string {
	h := newShape("script", uid)
	if len(argv) > 0 {
		io.WriteString(h, argv[0]+"\x00"+script(argv[1:]))
	}
	return shortSum(h)
}

// script returns the first argument with the ending of a script. If there is none, it returns the
// first argument that is not an option, or "".
func script(args []string) string {
	plain := ""
	for _, arg := range args {
		if job.IsScript(arg) {
			return arg
		}
		if plain == "" && !strings.HasPrefix(arg, "-") {
			plain = arg
		}
	}
	return plain
}

func newShape(kind string, uid int) hash.Hash {
	h := sha256.New()
	io.WriteString(h, kind+" "+strconv.Itoa(uid)+"\x00")
	return h
}

// shortSum returns 64 bits of the hash. If two commands of one user had the same bits, they would
// share a prediction. This would do no other harm.
func shortSum(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)[:8]) }
