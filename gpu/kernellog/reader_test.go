package kernellog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gpusched/gpusched/gpu"
)

// A follower runs a reader and collects its reports.
type follower struct {
	t       *testing.T
	r       *Reader
	reports chan gpu.XidReport
	stop    func()
}

func follow(t *testing.T, path string) *follower {
	f := &follower{t: t, r: New(path), reports: make(chan gpu.XidReport, 100)}
	f.r.retry, f.r.pause = time.Millisecond, time.Millisecond
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() { f.r.Run(ctx, func(r gpu.XidReport) { f.reports <- r }) })
	f.stop = func() { cancel(); done.Wait() }
	t.Cleanup(f.stop)
	return f
}

func (f *follower) next() gpu.XidReport {
	f.t.Helper()
	select {
	case r := <-f.reports:
		return r
	case <-time.After(20 * time.Second):
		f.t.Fatal("no report comes")
		return gpu.XidReport{}
	}
}

func (f *follower) until(what string, ok func(error) bool) {
	f.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(f.r.Trouble()); {
		if time.Now().After(deadline) {
			f.t.Fatalf("never: %s (trouble: %v)", what, f.r.Trouble())
		}
		<-time.After(time.Millisecond)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	w, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, err := w.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

const boot = "6,1,0,-;Linux version 6.1.0\n SUBSYSTEM=x\n DEVICE=+pci:0000:3b:00.0\n"

// Invariant 1: existing records are reported, then new ones, even if they arrive in pieces.
func TestFollowsAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kmsg")
	at := uptime()
	write(t, path, boot+fmt.Sprintf("4,812,%d,-,caller=T77;NVRM: Xid (PCI:0000:3b:00): 31, pid=12, name=python, Ch 1\n", at.Microseconds())+"4,813,9,-;NVRM: Xid (PCI:00")
	f := follow(t, path)
	got := f.next()
	if want := (gpu.Xid{Code: 31, PCI: "0000:3b:00", PID: 12, Comm: "python", Text: "Ch 1"}); got.Xid != want || got.Seq != 812 {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if ago := time.Since(got.At); ago < 0 || ago > time.Minute {
		t.Errorf("it happened %s ago", ago)
	}
	write(t, path, "00:3c:00): 79, GPU has fallen off the bus.\n")
	if got := f.next(); got.Code != 79 || got.Seq != 813 || got.PCI != "0000:3c:00" {
		t.Errorf("got %+v", got)
	}
	f.stop()
	again := follow(t, path)
	if a, b := again.next(), again.next(); a.Seq != 812 || b.Seq != 813 {
		t.Errorf("again: %+v, %+v", a, b)
	}
}

// Writers of a FIFO come and go.
func TestFollowsAFIFO(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kmsg")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	f := follow(t, path)
	f.until("open", func(err error) bool { return err == nil })
	for seq := range uint64(3) {
		write(t, path, fmt.Sprintf("4,%d,9,-;NVRM: Xid (PCI:0000:3b:00): 48, DBE\n", seq+1))
		if got := f.next(); got.Seq != seq+1 {
			t.Errorf("got %+v", got)
		}
	}
}

// A log that can't be read is opened again and again (invariant 3).
func TestComesBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kmsg")
	f := follow(t, path)
	f.until("told that it is missing", func(err error) bool { return errors.Is(err, fs.ErrNotExist) })
	write(t, path, "4,5,9,-;NVRM: Xid (PCI:0000:3b:00): 48, DBE\n")
	if got := f.next(); got.Seq != 5 {
		t.Errorf("got %+v", got)
	}
	f.until("well again", func(err error) bool { return err == nil })
	dir := follow(t, t.TempDir())
	dir.until("told that it cannot be read", func(err error) bool { return errors.Is(err, syscall.EISDIR) })
}

// Only records of the kernel itself are accepted (invariant 5).
func TestParseRecord(t *testing.T) {
	tests := []struct {
		line string
		want record
		ok   bool
	}{
		{"4,1234,5678901234,-;NVRM: x; y", record{1234, 5678901234 * time.Microsecond, "NVRM: x; y"}, true},
		{"7,3,4,c,caller=T1;", record{3, 4 * time.Microsecond, ""}, true},
		{"12,3,4,-;NVRM: x", record{}, false}, // written by a program to /dev/kmsg, as the kernel marks it
		{"30,3,4,-;NVRM: x", record{}, false},
		{"-4,3,4,-;NVRM: x", record{}, false},
		{",3,4,-;NVRM: x", record{}, false},
		{"4,1234,5678901234;NVRM", record{}, false},
		{" SUBSYSTEM=x;", record{}, false},
		{"4,-1,0,-;x", record{}, false},
		{"4,1,18446744073709551615,-;x", record{}, false},
		{"4,1,9223372036854775807,-;x", record{}, false},
		{"4,18446744073709551616,1,-;x", record{}, false},
		{"", record{}, false},
	}
	for _, tt := range tests {
		if got, ok := parseRecord(tt.line); ok != tt.ok || got != tt.want {
			t.Errorf("%q: got %+v, %t", tt.line, got, ok)
		}
	}
}

// Invariant 4 holds for any log, in pieces of any size.
func FuzzLines(f *testing.F) {
	f.Add([]byte(boot+"4,812,9,-;NVRM: Xid (PCI:0000:3b:00): 31, pid=12\n"), 7)
	f.Add([]byte(strings.Repeat("x", maxRecord+1)+"\n4,1,9,-;y\n"), 4096)
	f.Fuzz(func(t *testing.T, log []byte, size int) {
		size = min(max(size, 1), 1<<16)
		var l lineJoiner
		var got []string
		r := New("")
		for rest := log; len(rest) > 0; {
			n := min(size, len(rest))
			l.add(rest[:n], func(line string) {
				got = append(got, line)
				r.line(line, func(rep gpu.XidReport) {
					if rep.Code < 1 {
						t.Errorf("%+v out of %q", rep, line)
					}
				})
			})
			if rest = rest[n:]; cap(l.part) > 4*maxRecord {
				t.Fatalf("%d bytes are kept", cap(l.part))
			}
		}
		var want []string
		whole := strings.Split(string(log), "\n")
		for _, line := range whole[:len(whole)-1] {
			if len(line) <= maxRecord {
				want = append(want, line)
			}
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") || len(got) != len(want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}
