package journal

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// journald is a socket that the test reads as journald would.
type journald struct{ *net.UnixConn }

func listen(t *testing.T, path string) journald {
	t.Helper()
	_ = os.Remove(path)
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return journald{c}
}

// next reads one entry as journald does: a field has a length, or ends at the end of its line.
func (j journald) next(t *testing.T) []string {
	t.Helper()
	_ = j.SetReadDeadline(time.Now().Add(10 * time.Second))
	d := make([]byte, 1<<20)
	n, err := j.Read(d)
	if err != nil {
		t.Fatal(err)
	}
	fields, err := parse(d[:n])
	if err != nil {
		t.Fatal(err)
	}
	return fields
}

type malformed string

func (m malformed) Error() string { return string(m) }

func parse(d []byte) (fields []string, err error) {
	for len(d) > 0 {
		head, rest, ok := bytes.Cut(d, []byte("\n"))
		if !ok {
			return nil, malformed("no end of line")
		}
		if bytes.ContainsRune(head, '=') {
			fields, d = append(fields, string(head)), rest
			continue
		}
		if len(rest) < 9 {
			return nil, malformed("no length")
		}
		n := binary.LittleEndian.Uint64(rest)
		if n > uint64(len(rest)-9) || rest[8+n] != '\n' {
			return nil, malformed("a wrong length")
		}
		fields, d = append(fields, string(head)+"="+string(rest[8:8+n])), rest[9+n:]
	}
	return fields, nil
}

// Invariant 2: a field has exactly the logged bytes, and no value becomes another field.
func TestNativeFields(t *testing.T) {
	path := filepath.Join(t.TempDir(), "socket")
	reads := listen(t, path)
	q := NewNative(path, os.Stderr)
	defer q.Close()
	const forged = "x\nGPUSCHED_OUTCOME=done\nPRIORITY\n\x01\x00\x00\x00\x00\x00\x00\x007\n\x00\xff"
	slog.New(NewHandler(q, slog.LevelInfo)).Warn("audit", "uid", 1002, "target", forged, "outcome", "refused", "GPUSCHED_AUDIT", 1, "ugly.näme", 5)
	want := []string{
		`MESSAGE=audit uid=1002 target="x\nGPUSCHED_OUTCOME=done\nPRIORITY\n\x01\x00\x00\x00\x00\x00\x00\x007\n\x00\xff" outcome=refused ugly.näme=5`,
		"PRIORITY=4", "SYSLOG_IDENTIFIER=gpuschedd", "GPUSCHED_UID=1002", "GPUSCHED_TARGET=" + forged, "GPUSCHED_OUTCOME=refused", "GPUSCHED_AUDIT=1", "GPUSCHED_UGLY_N_ME=5",
	}
	if got := reads.next(t); !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

// Invariant 4: without journald, entries are written as text.
// When journald returns with a new socket, entries are sent there.
func TestNativeFallsBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "socket")
	var stderr bytes.Buffer
	n, text := &nativeSender{path: path}, text{&stderr}
	q := &Queue{to: n, fallback: text}
	say := func(s string) { q.send(entry{level: slog.LevelInfo, text: s}) }
	say("before it is there")
	first := listen(t, path)
	say("one")
	if got := first.next(t); got[0] != "MESSAGE=one" {
		t.Errorf("%q", got)
	}
	first.Close()
	say("while it is away")
	second := listen(t, path)
	say("two")
	if got := second.next(t); got[0] != "MESSAGE=two" {
		t.Errorf("%q", got)
	}
	second.Close()
	third := listen(t, path)
	say("three")
	if got := third.next(t); got[0] != "MESSAGE=three" {
		t.Errorf("%q", got)
	}
	if want := "<6>before it is there\n<6>while it is away\n"; stderr.String() != want {
		t.Errorf("got %q, want %q", stderr.String(), want)
	}
}

// While journald does not read, only the queue waits. When journald reads again, the queue sends
// the remaining entries.
func TestNativeWaitsForTheReader(t *testing.T) {
	path := filepath.Join(t.TempDir(), "socket")
	reads := listen(t, path)
	q := NewNative(path, os.Stderr)
	log := slog.New(NewHandler(q, slog.LevelInfo))
	const lines = queueLength / 2 // many more than the kernel buffers
	for i := range lines {
		log.Info("line", "n", i)
	}
	for i := range lines {
		if got := reads.next(t); !strings.HasSuffix(got[0], " n="+slog.IntValue(i).String()) {
			t.Fatalf("%d: %q", i, got)
		}
	}
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}
}

// The standard error output counts as the journal only if it is the file that systemd connected.
func TestIsJournal(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for stream, want := range map[string]bool{"": false, "x": false, "1:2": false, "8:": false, identity(t, f): true} {
		if got := IsJournal(f, stream); got != want {
			t.Errorf("%q: %v", stream, got)
		}
	}
}

// Whatever bytes a name, a value or a message has, the number of fields does not change.
func FuzzDatagram(f *testing.F) {
	f.Add("audit", "target", "x\nGPUSCHED_OUTCOME=done")
	f.Add("a=b\nc", "GPUSCHED_\n", "\x00\xff")
	f.Fuzz(func(t *testing.T, message, name, value string) {
		e := entry{text: quoteValue(message)}
		e.add(name, value)
		fields, err := parse(datagram(e))
		if err != nil || len(fields) != 4 {
			t.Fatalf("%q, %v", fields, err)
		}
		if key, got, _ := strings.Cut(fields[3], "="); !strings.HasPrefix(key, fieldPrefix) || got != shorten(value) {
			t.Errorf("%q", fields[3])
		}
		if strings.ContainsAny(e.text, "\n\x1b\x00") || bytes.Count(line(e), []byte("\n")) != 1 {
			t.Errorf("the text has more than a line: %q", e.text)
		}
	})
}

func identity(t *testing.T, f *os.File) string {
	t.Helper()
	var st syscall.Stat_t
	if err := syscall.Fstat(int(f.Fd()), &st); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%d:%d", st.Dev, st.Ino)
}
