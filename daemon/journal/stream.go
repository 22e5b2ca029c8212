package journal

import (
	"fmt"
	"io"
	"os"
	"syscall"
)

// IsJournal reports whether an open file is the journal. The argument stream is the value of
// JOURNAL_STREAM: the device and inode of the file that systemd connected. A redirected output has
// another device or inode.
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

// line returns an entry as text. The text begins with the entry's priority, which journald and
// other readers of sd-daemon(3) understand.
func line(e entry) []byte {
	return fmt.Appendf(nil, "<%c>%s\n", priority(e.level), e.text)
}

// text writes entries as lines.
type text struct{ w io.Writer }

func (t text) send(e entry) error {
	_, err := t.w.Write(line(e))
	return err
}
