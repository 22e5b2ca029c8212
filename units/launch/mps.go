package launch

import (
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// awaitPause is the time between two looks at a pipe.
const awaitPause = 10 * time.Millisecond

// awaitPipe waits until there is a pipe at the path, and returns an exit status. If the process that
// is to make the pipe has ended, the status is 1. systemd bounds the time.
func awaitPipe(path, maker string) int {
	pid, _ := strconv.Atoi(maker)
	for ; ; time.Sleep(awaitPause) {
		if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeNamedPipe != 0 {
			return 0
		}
		if pid <= 0 || unix.Kill(pid, 0) != nil {
			os.Stderr.WriteString("gpusched: the control program of MPS ended before it made " + path + "\n")
			return 1
		}
	}
}
