package logs

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

// binaryField encodes a field whose value is not plain text, in the same way as journalctl.
func binaryField(name, value string) string {
	size := binary.LittleEndian.AppendUint64(nil, uint64(len(value)))
	return name + "\n" + string(size) + value + "\n"
}

// Lines that journald has split are joined. Other lines are not.
func TestLinesAreJoined(t *testing.T) {
	long := strings.Repeat("x", 49152)
	for name, c := range map[string]struct{ journal, want string }{
		"a long line":            {"MESSAGE=" + long + "\n_LINE_BREAK=line-max\n_STREAM_ID=a\n\nMESSAGE=end\n_STREAM_ID=a\n\n", long + "end\n"},
		"NUL, bar, latin-1":      {"MESSAGE=a\n_LINE_BREAK=nul\n_STREAM_ID=a\n\n" + binaryField("MESSAGE", "1%\r2%\n\xe9") + "_STREAM_ID=a\n\n", "a\x001%\r2%\n\xe9\n"},
		"another process":        {"MESSAGE=ha\n_LINE_BREAK=pid-change\n_STREAM_ID=a\n\nMESSAGE=lf\n_STREAM_ID=a\n\n", "half\n"},
		"no newline at its end":  {"MESSAGE=a\n_STREAM_ID=a\n\nMESSAGE=b\n_LINE_BREAK=eof\n_STREAM_ID=a\n\n", "a\nb"},
		"and another start":      {"MESSAGE=a\n_LINE_BREAK=eof\n_STREAM_ID=a\n\nMESSAGE=b\n_STREAM_ID=b\n\n", "a\nb\n"},
		"a notice within a line": {"MESSAGE=a\n_LINE_BREAK=line-max\n_STREAM_ID=a\n\nMESSAGE=note\n\nMESSAGE=b\n_STREAM_ID=a\n\n", "a\nnote\nb\n"},
		"a piece is not printed": {"MESSAGE=a\n\nMESSAGE=brok", "a\n"},
	} {
		var out bytes.Buffer
		lines := &LineJoiner{W: &out}
		if err := readEntries(strings.NewReader(c.journal), lines.Write); err != nil || out.String() != c.want {
			t.Errorf("%s: %.60q, %v", name, out.String(), err)
		}
	}
	var out bytes.Buffer
	lines := &LineJoiner{W: &out, times: true}
	at := time.Unix(0, 0)
	for _, e := range []Entry{
		{text: []byte("n"), ending: "nul", stream: "s", at: at},
		{text: []byte("a"), ending: "line-max", stream: "s", at: at}, {text: []byte("b"), stream: "s", at: at},
	} {
		if err := lines.Write(e); err != nil {
			t.Fatal(err)
		}
	}
	if got := out.String(); strings.Count(got, ":00.000000") != 1 || !strings.HasSuffix(got, " n\x00ab\n") {
		t.Errorf("with the time: %q", got)
	}
}

// The error of a program that could not open its own output is recognized, whatever name it used.
func TestOpenedByName(t *testing.T) {
	for line, want := range map[string]bool{
		"bash: line 1: /dev/stderr: No such device or address":            true,
		"sh: 1: cannot create /dev/stdout: No such device or address":     true,
		"OSError: [Errno 6] No such device or address: '/proc/self/fd/2'": true,
		"tee: /dev/fd/2: No such device or address":                       true,
		"bash: line 1: /tmp/fifo: No such device or address":              false,
		"cat: /dev/stdin: No such file or directory":                      false,
	} {
		lines := &LineJoiner{W: io.Discard}
		if err := lines.Write(Entry{text: []byte(line)}); err != nil || lines.ByName != want {
			t.Errorf("%q: %v, %v", line, lines.ByName, err)
		}
	}
}

// A damaged export gives an error, whatever length it claims.
func TestDamagedEntries(t *testing.T) {
	for _, text := range []string{"MESSAGE\n", "MESSAGE\n\xff\xff\xff\xff\xff\xff\xff\xffx", "MESSAGE\n\xff\xff\xff\xff\xff\xff\xff\x7fx"} {
		if err := readEntries(strings.NewReader(text), func(Entry) error { return nil }); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
	stopped := errors.New("stopped")
	if err := readEntries(strings.NewReader("MESSAGE=a\n\n"), func(Entry) error { return stopped }); err != stopped {
		t.Error(err)
	}
}
