package journal

import (
	"fmt"
	"io"
	"os"
	"syscall"
)

// IsJournal reports whether an open file is the journal, by the value that
// systemd gave its service in JOURNAL_STREAM: device and inode of what it
// connected. A file that was put in its place is not.
func IsJournal(f *os.File, stream string) bool {
	var dev, ino uint64
	if _, err := fmt.Sscanf(stream, "%d:%d", &dev, &ino); err != nil {
		return false
	}
	info, err := f.Stat()
	if err != nil {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && uint64(st.Dev) == dev && st.Ino == ino
}

// line is an entry as text, with the priority before it that journald and other
// readers of sd-daemon(3) know.
func line(e entry) []byte {
	return fmt.Appendf(nil, "<%c>%s\n", priority(e.level), e.text)
}

// text writes entries as lines.
type text struct{ w io.Writer }

func (t text) send(e entry) error {
	_, err := t.w.Write(line(e))
	return err
}
