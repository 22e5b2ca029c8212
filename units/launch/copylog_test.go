package launch

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A testCopy is a logCopy whose input, journal and log belong to the test.
type testCopy struct {
	in       *os.File
	finished chan struct{}
}

// startLogCopy starts a logCopy. The argument otherEnds has the other ends of logs that hang. They
// are closed at the end of the test, so that the writer, which has a descriptor of each, does not
// outlive the test.
func startLogCopy(t *testing.T, out, file *os.File, patience time.Duration, otherEnds ...*os.File) *testCopy {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c := &testCopy{in: w, finished: make(chan struct{})}
	l := newLogCopy(int(out.Fd()), int(file.Fd()), patience)
	go func() {
		defer close(c.finished)
		l.run(int(r.Fd()))
	}()
	t.Cleanup(func() {
		c.ends()
		r.Close()
		for _, f := range otherEnds {
			f.Close()
		}
		<-l.finished
	})
	return c
}

func (c *testCopy) prints(t *testing.T, text string) {
	t.Helper()
	if _, err := io.WriteString(c.in, text); err != nil {
		t.Fatal(err)
	}
}

func (c *testCopy) ends() {
	c.in.Close()
	<-c.finished
}

func create(t *testing.T, name string) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// A full disk neither delays nor ends the job, and is reported once.
func TestLogOnAFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	const said = "gpusched: the log can't be written to: no space left on device; the job continues, and the journal has all of its output\n"
	for _, more := range []int{0, 1 << 18} {
		out := create(t, "out")
		c := startLogCopy(t, out, full, time.Hour)
		c.prints(t, "lost\n")
		c.prints(t, strings.Repeat("lost\n", more))
		c.ends()
		got := content(t, out.Name())
		if strings.Count(got, said) != 1 || strings.Count(got, "lost\n") != more+1 || strings.Contains(got, "\n\n") {
			t.Errorf("%d bytes, it was said %d times", len(got), strings.Count(got, said))
		}
	}
}

// Once there is room again, the log says how much is missing.
func TestLogAfterAFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	file := create(t, "log")
	l := &logWriter{file: int(full.Fd())}
	l.write([]byte("lost\n"))
	l.write([]byte("lost\n"))
	l.file, l.failed = int(file.Fd()), l.failed.Add(-logRetry)
	l.write([]byte("kept\n"))
	if got := content(t, file.Name()); got != "\ngpusched: 10 bytes are missing here; the journal has them\nkept\n" {
		t.Errorf("%q", got)
	}
}

// hangingLog returns a log that accepts nothing once its pipe is full.
func hangingLog(t *testing.T) (answers, file *os.File) {
	t.Helper()
	answers, file, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	file.Fd() // makes it blocking, like a file
	t.Cleanup(func() { file.Close() })
	return answers, file
}

// A file system that hangs in the middle of a job delays the job's output by the log's patience and
// no longer. The journal has all of the output. When the file system answers again, the log
// continues and says how much is missing.
func TestLogThatHangsLater(t *testing.T) {
	answers, file := hangingLog(t)
	out := create(t, "out")
	c := startLogCopy(t, out, file, time.Millisecond, answers)
	const lines, width = 1 << 16, 64
	want := bytes.Buffer{}
	for i := range lines {
		fmt.Fprintf(&want, "%0*d\n", width-1, i)
	}
	c.prints(t, want.String()) // 4 MiB, a quarter of which finds room
	c.prints(t, "before it answers\n")
	untilFile(t, out, "before it answers\n")

	var log logBuffer
	done := make(chan struct{})
	go func() { _, _ = io.Copy(&log, answers); close(done) }()
	for i := 0; !strings.Contains(log.String(), "\nagain "); i++ {
		c.prints(t, fmt.Sprintf("again %d\n", i))
		untilFile(t, out, fmt.Sprintf("again %d\n", i))
	}
	c.ends()
	file.Close()
	<-done

	printed := content(t, out.Name())
	said := "gpusched: the log can't be written to: " + unanswered{}.Error() + "; the job continues, and the journal has all of its output\n"
	if strings.Count(printed, said) != 1 {
		t.Errorf("it was said %d times", strings.Count(printed, said))
	}
	printed = strings.Replace(printed, said, "", 1)
	if !strings.HasPrefix(printed, want.String()+"before it answers\nagain 0\n") {
		t.Error("the journal does not have all")
	}
	at, missing := 0, 0
	for i, part := range strings.Split(log.String(), "\ngpusched: ") {
		if i > 0 {
			if n, err := fmt.Sscanf(part, "%d bytes are missing here; the journal has them\n", &missing); n != 1 {
				t.Fatalf("part %d of the log: %v in %.200q", i, err, part)
			}
			_, part, _ = strings.Cut(part, "\n")
			at += missing
		}
		if !strings.HasPrefix(printed[at:], part) {
			t.Fatalf("part %d of the log, after %d bytes: %.200q", i, at, part)
		}
		at += len(part)
	}
	if missing == 0 {
		t.Error("the log does not say that anything is missing")
	}
}

// A logBuffer is the content that a log received.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// A slow log that makes progress is written to the end, however long that takes.
func TestSlowLogAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &logCopy{
			out: -1, patience: logPatience, work: make(chan piece, logPieces), free: make(chan []byte, logPieces+1),
			finished: make(chan struct{}),
		}
		for range logPieces {
			c.work <- piece{content: []byte("some")}
		}
		go func() {
			defer close(c.finished)
			for p := range c.work {
				time.Sleep(logPatience - time.Second)
				c.free <- p.content
			}
		}()
		c.finish()
		select {
		case <-c.finished:
		default:
			t.Error("the writer was left behind, which went on")
			<-c.finished
		}
		if c.why != nil {
			t.Error(c.why)
		}
	})
}

// A log that still hangs at the end of the job is abandoned.
func TestLogThatHangsForEver(t *testing.T) {
	answers, file := hangingLog(t)
	out := create(t, "out")
	c := startLogCopy(t, out, file, time.Millisecond, answers)
	c.prints(t, strings.Repeat("x", 1<<17))
	c.ends()
	got := content(t, out.Name())
	if !strings.HasPrefix(got, strings.Repeat("x", 1<<17)+"\ngpusched: the log can't be written to: its file system has not") {
		t.Errorf("%d bytes, at the end %.200q", len(got), got[min(len(got), 1<<17):])
	}
}

func untilFile(t *testing.T, f *os.File, end string) {
	t.Helper()
	for limit := time.Now().Add(time.Minute); !strings.Contains(tail(t, f), end); {
		if time.Now().After(limit) {
			t.Fatalf("%q never came", end)
		}
	}
}

// tail returns the end of a file.
func tail(t *testing.T, f *os.File) string {
	t.Helper()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 300)
	n, err := f.ReadAt(b, max(0, info.Size()-int64(len(b))))
	if err != nil && err != io.EOF {
		t.Fatal(err)
	}
	return string(b[:n])
}
