package hold

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/gpusched/gpusched/units/contract"
)

// maxRest limits the number of bytes that copyOutput reads after the deadline. No pipe or terminal
// holds more, unless root has raised the limits.
const maxRest = 1 << 20

// copyOutput passes the output of a command to the function show, until no process has the output
// open any more. Another process may keep it open after the command has ended. So the caller then
// sets a deadline, after which copyOutput reads only what is there already. This includes all that
// the command wrote, however late copyOutput gets to run.
func copyOutput(from *os.File, show func(piece []byte)) {
	b := make([]byte, 32<<10)
	for rest := maxRest; rest > 0; {
		n, err := from.Read(b)
		if errors.Is(err, os.ErrDeadlineExceeded) { // it was not tried to read
			err = control(from, func(fd int) (err error) { n, err = unix.Read(fd, b); return err })
			rest -= n
		}
		if n > 0 {
			show(b[:n])
		}
		if n <= 0 || err != nil {
			return
		}
	}
}

// statusOf returns the status that a shell reports for an ended command.
func statusOf(s syscall.WaitStatus) int {
	if s.Signaled() {
		return 128 + int(s.Signal())
	}
	return s.ExitStatus()
}

// finish ends this process in the same way as the command ended (invariant 5). If the command
// exited, finish returns the exit status. If a signal ended the command, the same signal ends this
// process, without a core dump of the holder.
func finish(s syscall.WaitStatus) int {
	if s.Signaled() {
		_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
		var byDefault [8]uintptr // bypasses the runtime, which would keep its own handler
		_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(s.Signal()), uintptr(unsafe.Pointer(&byDefault)), 0,
			contract.MaxSignal/8, 0, 0)
		runtime.LockOSThread() // a signal to this thread arrives before the call returns
		_ = unix.Tgkill(os.Getpid(), unix.Gettid(), s.Signal())
	}
	return statusOf(s)
}

// hangUp passes on to the command the signals that only this process gets. It ignores signals to
// the whole job, because the command gets these too. If the argument relays is true, the command
// runs a container, and only this process gets the signals for the container. A command that
// ignores SIGTERM, like a shell at its prompt, gets SIGHUP instead.
func hangUp(pid int, arriving <-chan os.Signal, aimed []string, relays bool) {
	for s := range arriving {
		if signal := s.(syscall.Signal); slices.Contains(aimed, strconv.Itoa(int(signal))) || relays && isRelayed(signal) {
			_ = unix.Kill(pid, signal)
		}
		if s == syscall.SIGTERM && ignoresTerm(pid) {
			_ = unix.Kill(-pid, syscall.SIGHUP)
		}
	}
}

// ignoresTerm reports whether a process ignores SIGTERM; false if it is gone.
func ignoresTerm(pid int) bool {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, _ := bytes.Cut(text, []byte("\nSigIgn:\t"))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	mask, err := strconv.ParseUint(string(line), 16, 64)
	return err == nil && mask&(1<<(uint(syscall.SIGTERM)-1)) != 0
}
