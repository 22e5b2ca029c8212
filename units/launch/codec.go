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
// array. Encode writes the oldest that says everything, so that after a
// downgrade the launcher of then reads what it can do; Decode reads all of them.
// What follows the end are zeros, as many as Write adds.
const (
	magic      = "gpusched-spec 1\n"
	magicArray = "gpusched-spec 2\n"
)

// ErrSpec says that bytes are not a spec of this version.
var ErrSpec = errors.New("not a job spec of this version")

// Encode returns the content of the spec file.
func Encode(s *Spec) []byte {
	e := encoder{buf: make([]byte, 0, 1024)}
	if s.ArrayJob == 0 {
		e.buf = append(e.buf, magic...)
	} else {
		e.buf = append(e.buf, magicArray...)
	}
	e.number(s.JobID)
	e.number(int64(s.Attempt))
	e.list(s.Argv)
	e.text(s.EnvMode)
	e.list(s.Env)
	e.text(s.Dir)
	e.number(int64(s.Umask))
	e.text(s.Home)
	e.text(s.User)
	e.text(s.Shell)
	e.number(int64(len(s.GPUs)))
	for _, g := range s.GPUs {
		e.number(int64(g.Index))
		e.number(int64(g.Minor))
		e.text(g.UUID)
	}
	e.number(int64(s.ShareMilli))
	e.number(s.GPUMemMiB)
	e.text(s.Visible)
	e.flag(s.RequireFilter)
	e.text(s.ProbePath)
	e.number(int64(len(s.SoftLimits)))
	for _, l := range s.SoftLimits {
		e.text(l.Name)
		e.buf = binary.AppendUvarint(e.buf, l.Soft)
		e.buf = binary.AppendUvarint(e.buf, l.Hard)
	}
	if s.ArrayJob != 0 {
		e.number(s.ArrayJob)
		e.number(int64(s.ArrayTask))
	}
	return e.buf
}

type encoder struct{ buf []byte }

func (e *encoder) number(n int64) { e.buf = binary.AppendVarint(e.buf, n) }

func (e *encoder) text(s string) {
	e.number(int64(len(s)))
	e.buf = append(e.buf, s...)
}

func (e *encoder) list(l []string) {
	e.number(int64(len(l)))
	for _, s := range l {
		e.text(s)
	}
}

func (e *encoder) flag(b bool) {
	n := int64(0)
	if b {
		n = 1
	}
	e.number(n)
}

// Decode reads the content of a spec file. Its errors wrap ErrSpec and never
// quote the content. The strings of the result share one copy of b.
func Decode(b []byte) (*Spec, error) {
	d := decoder{rest: string(b)}
	rest, plain := strings.CutPrefix(d.rest, magic)
	if !plain {
		var ok bool
		if rest, ok = strings.CutPrefix(d.rest, magicArray); !ok {
			return nil, &decodeError{"it does not begin as one"}
		}
	}
	d.rest = rest
	s := &Spec{}
	d.command(s)
	d.gpus(s)
	d.limits(s)
	if !plain {
		d.array(s)
	}
	switch {
	case d.bad != "":
		return nil, &decodeError{"the " + d.bad + " is damaged, " + strconv.Itoa(len(d.rest)) + " bytes before its end"}
	case strings.Trim(d.rest, "\x00") != "":
		return nil, &decodeError{strconv.Itoa(len(d.rest)) + " bytes follow its end"}
	}
	return s, nil
}

func (d *decoder) command(s *Spec) {
	s.JobID = d.number("job id")
	s.Attempt = int(d.number("attempt"))
	s.Argv = d.list("command")
	s.EnvMode = d.text("environment mode")
	s.Env = d.list("environment")
	s.Dir = d.text("directory")
	s.Umask = int(d.number("umask"))
	s.Home = d.text("home")
	s.User = d.text("user")
	s.Shell = d.text("shell")
}

func (d *decoder) gpus(s *Spec) {
	for n := d.count("GPU list", 3); n > 0; n-- {
		g := GPU{Index: int(d.number("GPU index")), Minor: int(d.number("GPU minor"))}
		g.UUID = d.text("GPU UUID")
		s.GPUs = append(s.GPUs, g)
	}
	s.ShareMilli = int(d.number("GPU share"))
	s.GPUMemMiB = d.number("GPU memory")
	s.Visible = d.text("GPU naming")
	s.RequireFilter = d.number("filter flag") != 0
	s.ProbePath = d.text("probe path")
}

func (d *decoder) limits(s *Spec) {
	for n := d.count("limit list", 3); n > 0; n-- {
		l := contract.Limit{Name: d.text("limit name")}
		l.Soft = d.unsigned("limit")
		l.Hard = d.unsigned("limit")
		s.SoftLimits = append(s.SoftLimits, l)
	}
}

// array refuses to have none: that is what version 1 says.
func (d *decoder) array(s *Spec) {
	s.ArrayJob = d.number("array")
	s.ArrayTask = int(d.number("task"))
	if s.ArrayJob == 0 && d.bad == "" {
		d.bad = "array"
	}
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

func (d *decoder) unsigned(what string) uint64 {
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

func (d *decoder) number(what string) int64 {
	u := d.unsigned(what)
	return int64(u>>1) ^ -int64(u&1)
}

// count reads a length of things of at least size bytes each, so that no
// damaged length makes us reserve more than the file has.
func (d *decoder) count(what string, size int) int {
	n := d.number(what)
	if n < 0 || n > int64(len(d.rest)/size) {
		d.bad = what
		return 0
	}
	return int(n)
}

func (d *decoder) text(what string) string {
	n := d.count(what, 1)
	if d.bad != "" {
		return ""
	}
	s := d.rest[:n]
	d.rest = d.rest[n:]
	return s
}

func (d *decoder) list(what string) []string {
	n := d.count(what, 1)
	if d.bad != "" || n == 0 {
		return nil
	}
	l := make([]string, 0, n)
	for ; n > 0 && d.bad == ""; n-- {
		l = append(l, d.text(what))
	}
	return l
}
