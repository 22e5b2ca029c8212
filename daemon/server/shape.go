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

// shapeOf names commands that are probably alike in how long they run: the same
// user's, equal but for the numbers in them. It is a hash, so that nothing of
// the command stays in the scheduler's memory. All tasks of an array have that of the
// command as it was submitted, {names} of parameters and all: an array waits as one
// entry, with one request and one expected run time, so what were known of each value
// could not tell which task goes next. Sizes of models and the like are better
// told apart by submitting one array for each.
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

// scriptOf names commands of one user that run the same program, or the same
// script with an interpreter.
func scriptOf(uid int, argv []string) string {
	h := newShape("script", uid)
	if len(argv) > 0 {
		io.WriteString(h, argv[0]+"\x00"+script(argv[1:]))
	}
	return shortSum(h)
}

// script returns the first argument that ends as scripts do, else the first
// that is not an option, else "".
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

// shortSum is 64 bits of the hash: two of one user's commands that meet in them
// would be predicted together, and nothing worse.
func shortSum(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)[:8]) }
