package submit

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// If nobody writes to a FIFO, reading it waits until the user interrupts.
func TestReadingAFileOfJobsCanBeInterrupted(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := FileText(ctx, fifo, func(os.FileInfo) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestAByteOrderMarkIsSkipped(t *testing.T) {
	file := filepath.Join(t.TempDir(), "jobs")
	os.WriteFile(file, []byte("\xef\xbb\xbf-g 1 -- /bin/true\r\n"), 0o600)
	text, err := FileText(t.Context(), file, func(os.FileInfo) error { return nil })
	if err != nil || text != "-g 1 -- /bin/true\r\n" {
		t.Errorf("%q, %v", text, err)
	}
}
