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

// shapeOf returns a key for commands that probably run equally long: commands of one user that
// differ only in their numbers. It is a hash, so that nothing of the command stays in the
// scheduler's memory. All tasks of an array share the key of the submitted command, with its
// {names} of parameters: an array waits as one entry with one expected run time, so a key for each
// value would not decide which task goes next. To tell the sizes of models apart, submit an array
// for each.
func shapeOf(uid int, argv []string) string {
	h := newShape("shape", uid)
	for _, arg := range argv {
		io.WriteString(h, withoutNumbers(arg))
		h.Write([]byte{0})
	}
	return shortSum(h)
}

// withoutNumbers replaces each run of digits by "#".
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

// scriptOf returns a key for commands of one user that run the same program, or the same script
// with an interpreter.
func scriptOf(uid int, argv []string) string {
	h := newShape("script", uid)
	if len(argv) > 0 {
		io.WriteString(h, argv[0]+"\x00"+script(argv[1:]))
	}
	return shortSum(h)
}

// script returns the first argument with the suffix of a script, otherwise the first argument that
// is not an option, otherwise "".
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

// shortSum returns 64 bits of the hash. If two commands of one user collide, they share a
// prediction, and nothing worse.
func shortSum(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)[:8]) }
