package logs

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
)

// An Entry is a journal entry.
type Entry struct {
	text   []byte
	ending string // why journald ended the line here; "" if it ends at a newline
	stream string // the stream that the entry belongs to; "" for a message
	cursor string
	at     time.Time

	Placed, Invocation string // they identify the attempt: GPUSCHED_PLACED and systemd's invocation id
}

// endsLine reports whether the line ends with this entry. A line continues in the stream's next
// entry in three cases: it exceeds journald's maximum length, another process wrote the rest, or it
// contains a NUL.
func (e Entry) endsLine() bool {
	return e.ending != "line-max" && e.ending != "pid-change" && e.ending != "nul"
}

// IsOf reports whether the entry belongs to this attempt. The entry must be from the job's unit.
func (e Entry) IsOf(at api.Attempt) bool {
	placed := strconv.FormatInt(at.PlacedAt.UnixMicro(), 10)
	return e.Placed == placed || e.Invocation != "" && e.Invocation == at.InvocationID
}

// readEntries reads the journal's export format. A field is a line FIELD=VALUE. A field whose value
// is not plain text is a line FIELD, the value's length in 8 bytes, and the value. An empty line
// ends an entry. If the last entry is incomplete, it is dropped.
func readEntries(r io.Reader, each func(Entry) error) error {
	in := bufio.NewReaderSize(r, 64<<10)
	var e Entry
	for {
		line, err := in.ReadBytes('\n')
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		line = line[:len(line)-1]
		if len(line) == 0 {
			if err := each(e); err != nil {
				return err
			}
			e = Entry{}
			continue
		}
		field, value, plain := bytes.Cut(line, []byte("="))
		if !plain {
			if value, err = readBinary(in); err != nil {
				return err
			}
		}
		e.set(string(field), value)
	}
}

func readBinary(in *bufio.Reader) ([]byte, error) {
	var size [8]byte
	if _, err := io.ReadFull(in, size[:]); err != nil {
		return nil, err
	}
	var value bytes.Buffer // grows with the data read, whatever length is claimed
	n := int64(binary.LittleEndian.Uint64(size[:]))
	if n < 0 {
		return nil, io.ErrUnexpectedEOF
	}
	if _, err := io.CopyN(&value, in, n); err != nil {
		return nil, err
	}
	_, err := in.Discard(1)
	return value.Bytes(), err
}

func (e *Entry) set(field string, value []byte) {
	switch field {
	case "MESSAGE":
		e.text = value
	case "_LINE_BREAK":
		e.ending = string(value)
	case "_STREAM_ID":
		e.stream = string(value)
	case PlacedField:
		e.Placed = string(value)
	case InvocationField:
		e.Invocation = string(value)
	case "__CURSOR":
		e.cursor = string(value)
	case "__REALTIME_TIMESTAMP":
		if µs, err := strconv.ParseInt(string(value), 10, 64); err == nil {
			e.at = time.UnixMicro(µs)
		}
	}
}

// errEnough is returned by a callback to stop RunJournal without an error.
var errEnough = errors.New("enough")

// RunJournal runs journalctl with arguments that select entries, and calls its last argument for
// every entry. It returns when journalctl exits, when ctx is done or when a call returns an error.
func RunJournal(ctx context.Context, path string, which []string, each func(Entry) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	form := []string{"--no-pager", "--quiet", "--output=export", "--output-fields=MESSAGE,_LINE_BREAK,_STREAM_ID"}
	cmd := exec.CommandContext(ctx, path, append(form, which...)...)
	cmd.Stderr = os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return fmt.Errorf("run %q: %w", path, err)
	}
	if err := readEntries(out, each); err != nil {
		stop()
		_ = cmd.Wait()
		if err == errEnough {
			return nil
		}
		return fmt.Errorf("read the journal: %w", err)
	}
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("run %q: %w", path, err)
	}
	return nil
}

// maxLine is the largest number of bytes that are kept of one line. A progress bar, or the whole
// output, may be a single line.
const maxLine = 16 << 20

// lastEntries returns the entries of the last n selected lines, in order. If a line is longer than
// maxLine, only its end is returned.
func lastEntries(ctx context.Context, path string, which []string, n int) (list []Entry, err error) {
	begun, size := 0, 0
	err = RunJournal(ctx, path, append([]string{"--reverse"}, which...), func(e Entry) error {
		if e.endsLine() || begun == 0 {
			if begun == n {
				return errEnough
			}
			begun++
			size = 0
		}
		if size += len(e.text); size > maxLine && len(e.text) < size {
			return errEnough
		}
		list = append(list, e)
		return nil
	})
	slices.Reverse(list)
	return list, err
}

// A LineJoiner writes entries as the job printed them. It joins lines that journald has split. If
// the last line is unfinished, it writes a line end only when other text follows.
type LineJoiner struct {
	W     io.Writer
	times bool   // print the time before each line
	open  string // the stream whose last line is unfinished

	ByName bool // a program tried to open its own output by name and failed
}

// ByNameHint is printed after a job's output if ByName is set.
const ByNameHint = "a job's output is a socket of the journal, which no program can open as /dev/stdout or /dev/stderr: " +
	"write '>&2' instead of '>/dev/stderr', or submit with --log FILE, which makes it a pipe"

// openedByName reports whether a line says that a program could not open its own output.
func openedByName(line []byte) bool {
	return bytes.Contains(line, []byte("No such device or address")) &&
		slices.ContainsFunc([]string{"/dev/std", "/dev/fd/", "/proc/self/fd/"}, func(name string) bool {
			return bytes.Contains(line, []byte(name))
		})
}

func (l *LineJoiner) Write(e Entry) error {
	var b []byte
	if l.open != "" && l.open != e.stream {
		b, l.open = append(b, '\n'), ""
	}
	if l.times && l.open == "" {
		b = e.at.AppendFormat(b, "2006-01-02T15:04:05.000000-0700 ")
	}
	l.open = ""
	l.ByName = l.ByName || openedByName(e.text)
	b = append(b, e.text...)
	if e.ending == "nul" {
		b = append(b, 0)
	}
	if e.endsLine() && e.ending != "eof" {
		b = append(b, '\n')
	} else {
		l.open = cmp.Or(e.stream, "?")
	}
	_, err := l.W.Write(b)
	return err
}

// End ends the last line if it is unfinished.
func (l *LineJoiner) End() {
	if l.open != "" {
		_, _ = l.W.Write([]byte("\n"))
	}
	l.open = ""
}

const PlacedField = "GPUSCHED_PLACED"

const InvocationField = "_SYSTEMD_INVOCATION_ID"
