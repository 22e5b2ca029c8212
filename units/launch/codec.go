package launch

import (
	"encoding/binary"
	"errors"
	"strconv"
	"strings"

	"github.com/gpusched/gpusched/units/contract"
)

// The file is the magic line, then the fields of Spec in order: numbers as
// varints, strings and lists with their length first. It is not JSON because
// JSON mangles bytes that are not UTF-8, and because decoding it would be the
// greater part of the launcher's time.
//
// Each version says all that the ones before it said and then more: 2 added the
// array, 3 a list of further fields by name. Encode writes the oldest that says everything, so that after a
// downgrade the launcher of then reads what it can do; Decode reads all of them.
// What follows the end are zeros, as many as Write adds.
const (
	magic      = "gpusched-spec 1\n"
	magicArray = "gpusched-spec 2\n"
	magicMore  = "gpusched-spec 3\n"
)

// ErrSpec says that bytes are not a spec of this version.
var ErrSpec = errors.New("not a job spec of this version")

// coder goes through the fields of a spec: an encoder writes what is there, a
// decoder fills in what it reads. What names the field, for its errors.
type coder interface {
	unsigned(n uint64, what string) uint64
	number(n int64, what string) int64
	text(s *string, what string)
	// count is the length of a list, whose elements take at least size bytes each.
	count(n, size int, what string) int
}

// code goes through all fields but those of the array, which version 1 has not.
func (s *Spec) code(c coder) {
	number(c, &s.JobID, "job id")
	number(c, &s.Attempt, "attempt")
	textList(c, &s.Argv, "command")
	c.text((*string)(&s.EnvMode), "environment mode")
	textList(c, &s.Env, "environment")
	c.text(&s.Dir, "directory")
	number(c, &s.Umask, "umask")
	c.text(&s.Home, "home")
	c.text(&s.User, "user")
	c.text(&s.Shell, "shell")
	elements(c, &s.GPUs, 3, "GPU list", func(g *contract.GPU) {
		number(c, &g.Index, "GPU index")
		number(c, &g.Minor, "GPU minor")
		c.text(&g.UUID, "GPU UUID")
	})
	number(c, &s.ShareMilli, "GPU share")
	number(c, &s.GPUMemMiB, "GPU memory")
	c.text(&s.Visible, "GPU naming")
	flag(c, &s.RequireFilter, "filter flag")
	c.text(&s.ProbePath, "probe path")
	elements(c, &s.SoftLimits, 3, "limit list", func(l *contract.Limit) {
		c.text(&l.Name, "limit name")
		set(&l.Soft, c.unsigned(l.Soft, "limit"))
		set(&l.Hard, c.unsigned(l.Hard, "limit"))
	})
}

func (s *Spec) codeArray(c coder) {
	number(c, &s.ArrayJob, "array")
	number(c, &s.ArrayTask, "task")
}

// set leaves alone what an encoder has only read.
func set[T comparable](to *T, v T) {
	if *to != v {
		*to = v
	}
}

func number[T int | int64](c coder, n *T, what string) { set(n, T(c.number(int64(*n), what))) }

func flag(c coder, b *bool, what string) {
	n := int64(0)
	if *b {
		n = 1
	}
	set(b, c.number(n, what) != 0)
}

func elements[T any](c coder, l *[]T, size int, what string, one func(*T)) {
	if n := c.count(len(*l), size, what); n != len(*l) {
		*l = make([]T, n)
	}
	for i := range *l {
		one(&(*l)[i])
	}
}

func textList(c coder, l *[]string, what string) {
	elements(c, l, 1, what, func(s *string) { c.text(s, what) })
}

// Encode returns the content of the spec file.
func Encode(s *Spec) []byte {
	e := &encoder{buf: make([]byte, 0, 1024)}
	more := s.further()
	switch {
	case len(more) > 0:
		e.buf = append(e.buf, magicMore...)
		s.code(e)
		s.codeArray(e)
		codeFurther(e, &more)
	case s.ArrayJob != 0:
		e.buf = append(e.buf, magicArray...)
		s.code(e)
		s.codeArray(e)
	default:
		e.buf = append(e.buf, magic...)
		s.code(e)
	}
	return e.buf
}

type encoder struct{ buf []byte }

func (e *encoder) unsigned(n uint64, _ string) uint64 {
	e.buf = binary.AppendUvarint(e.buf, n)
	return n
}

func (e *encoder) number(n int64, _ string) int64 {
	e.buf = binary.AppendVarint(e.buf, n)
	return n
}

func (e *encoder) count(n, _ int, what string) int { return int(e.number(int64(n), what)) }

func (e *encoder) text(s *string, what string) {
	e.count(len(*s), 1, what)
	e.buf = append(e.buf, *s...)
}

// Decode reads the content of a spec file. Its errors wrap ErrSpec and never
// quote the content. The strings of the result share one copy of b.
func Decode(b []byte) (*Spec, error) {
	d, s := &decoder{rest: string(b)}, &Spec{}
	if rest, ok := strings.CutPrefix(d.rest, magic); ok {
		d.rest = rest
		s.code(d)
	} else if rest, ok := strings.CutPrefix(d.rest, magicArray); ok {
		d.rest = rest
		s.code(d)
		s.codeArray(d)
		if s.ArrayJob == 0 && d.bad == "" { // that is what version 1 says
			d.bad = "array"
		}
	} else if rest, ok := strings.CutPrefix(d.rest, magicMore); ok {
		d.rest = rest
		s.code(d)
		s.codeArray(d)
		s.decodeFurther(d)
	} else {
		return nil, &decodeError{"it does not begin as one"}
	}
	switch {
	case d.bad != "":
		return nil, &decodeError{"the " + d.bad + " is damaged, " + strconv.Itoa(len(d.rest)) + " bytes before its end"}
	case strings.Trim(d.rest, "\x00") != "":
		return nil, &decodeError{strconv.Itoa(len(d.rest)) + " bytes follow its end"}
	}
	return s, nil
}

type decodeError struct{ why string }

func (e *decodeError) Error() string { return ErrSpec.Error() + ": " + e.why }
func (e *decodeError) Unwrap() error { return ErrSpec }

// decoder reads from the front of rest. After the first fault it returns zero
// values and keeps in bad what it was reading.
type decoder struct {
	rest string
	bad  string
}

func (d *decoder) unsigned(_ uint64, what string) uint64 {
	if d.bad != "" {
		return 0
	}
	var n uint64
	for i := 0; i < len(d.rest) && i < binary.MaxVarintLen64; i++ {
		c := d.rest[i]
		if i == binary.MaxVarintLen64-1 && c > 1 {
			break
		}
		n |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			d.rest = d.rest[i+1:]
			return n
		}
	}
	d.bad = what
	return 0
}

func (d *decoder) number(_ int64, what string) int64 {
	u := d.unsigned(0, what)
	return int64(u>>1) ^ -int64(u&1)
}

// count lets no damaged length make us reserve more than the file has.
func (d *decoder) count(_, size int, what string) int {
	n := d.number(0, what)
	if n < 0 || n > int64(len(d.rest)/size) {
		d.bad = what
	}
	if d.bad != "" {
		return 0
	}
	return int(n)
}

func (d *decoder) text(s *string, what string) {
	if n := d.count(0, 1, what); d.bad == "" {
		*s, d.rest = d.rest[:n], d.rest[n:]
	}
}
