package hold

import (
	"bytes"
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

// statusOf is a shell's status for how a command ended.
func statusOf(s syscall.WaitStatus) int {
	if s.Signaled() {
		return 128 + int(s.Signal())
	}
	return s.ExitStatus()
}

// finish ends this process as the command ended (invariant 5): it returns the exit
// status, or dies by the signal. A core of the holder would tell nothing.
func finish(s syscall.WaitStatus) int {
	if s.Signaled() {
		_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
		var byDefault [8]uintptr // past the runtime, which would not let go of its own
		_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(s.Signal()), uintptr(unsafe.Pointer(&byDefault)), 0,
			contract.MaxSignal/8, 0, 0)
		runtime.LockOSThread() // a signal to this thread comes before the call returns
		_ = unix.Tgkill(os.Getpid(), unix.Gettid(), s.Signal())
	}
	return statusOf(s)
}

// hangUp passes on the signals that come to this process alone, and passes over those that
// come to the whole job, as the command has them too. Only a command that ignores SIGTERM,
// as a shell at its prompt does, is told by SIGHUP that its terminal goes.
func hangUp(pid int, arriving <-chan os.Signal, aimed []string) {
	for s := range arriving {
		if signal := s.(syscall.Signal); slices.Contains(aimed, strconv.Itoa(int(signal))) {
			_ = unix.Kill(pid, signal)
		}
		if s == syscall.SIGTERM && ignoresTerm(pid) {
			_ = unix.Kill(-pid, syscall.SIGHUP)
		}
	}
}

// ignoresTerm asks the kernel; of a process that is gone it says false.
func ignoresTerm(pid int) bool {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, _ := bytes.Cut(text, []byte("\nSigIgn:\t"))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	mask, err := strconv.ParseUint(string(line), 16, 64)
	return err == nil && mask&(1<<(uint(syscall.SIGTERM)-1)) != 0
}
