package launch

import (
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/gpusched/gpusched/units/contract"
)

// What a new program inherits from its process, besides the environment.

// closeOnExec marks every descriptor above 2, so that the command has its
// standard three and nothing of ours or of whoever started us.
func closeOnExec() error {
	err := unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC)
	if err != unix.ENOSYS && err != unix.EINVAL { // Linux before 5.11
		return err
	}
	names, err := systemNodes().list("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, name := range names {
		if fd, err := strconv.Atoi(name); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
	return nil
}

// defaultSignals gives every ignored signal its default action again; handlers
// end with execve by themselves. It goes past the runtime, which would not let
// go of its own.
func defaultSignals() {
	for sig := uintptr(1); sig <= contract.MaxSignal; sig++ {
		// The kernel's struct sigaction begins with the handler; it has four
		// words on all 64-bit machines, and none of them is needed for SIG_DFL.
		var action, zero [8]uintptr
		_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, sig, 0, uintptr(unsafe.Pointer(&action)), contract.MaxSignal/8, 0, 0)
		if errno == 0 && action[0] == sigIgnore {
			unix.RawSyscall6(unix.SYS_RT_SIGACTION, sig, uintptr(unsafe.Pointer(&zero)), 0, contract.MaxSignal/8, 0, 0)
		}
	}
}

const sigIgnore = 1 // SIG_IGN

// unblockSignals empties the signal mask of the calling thread, which execve
// hands on. The caller has locked the thread.
func unblockSignals() error {
	return unix.PthreadSigmask(unix.SIG_SETMASK, &unix.Sigset_t{}, nil)
}

// setLimits applies the limits of the spec, never above the unit's own.
func setLimits(limits []contract.Limit) error {
	for _, l := range limits {
		resource, ok := resourceOf(l.Name)
		if !ok {
			return &limitError{l.Name, unix.EINVAL}
		}
		var have unix.Rlimit
		if err := unix.Prlimit(0, resource, nil, &have); err != nil {
			return &limitError{l.Name, err}
		}
		want := unix.Rlimit{Max: have.Max}
		if l.Hard != 0 {
			want.Max = min(l.Hard, have.Max)
		}
		want.Cur = min(l.Soft, want.Max)
		if want == have && resource != unix.RLIMIT_NOFILE {
			continue
		}
		if err := unix.Prlimit(0, resource, &want, nil); err != nil {
			return &limitError{l.Name, err}
		}
	}
	return nil
}

type limitError struct {
	name string
	err  error
}

func (e *limitError) Error() string { return e.name + ": " + e.err.Error() }
func (e *limitError) Unwrap() error { return e.err }

func resourceOf(name string) (int, bool) {
	switch name {
	case "CPU":
		return unix.RLIMIT_CPU, true
	case "FSIZE":
		return unix.RLIMIT_FSIZE, true
	case "DATA":
		return unix.RLIMIT_DATA, true
	case "STACK":
		return unix.RLIMIT_STACK, true
	case "CORE":
		return unix.RLIMIT_CORE, true
	case "RSS":
		return unix.RLIMIT_RSS, true
	case "NPROC":
		return unix.RLIMIT_NPROC, true
	case "NOFILE":
		return unix.RLIMIT_NOFILE, true
	case "MEMLOCK":
		return unix.RLIMIT_MEMLOCK, true
	case "AS":
		return unix.RLIMIT_AS, true
	case "LOCKS":
		return unix.RLIMIT_LOCKS, true
	case "SIGPENDING":
		return unix.RLIMIT_SIGPENDING, true
	case "MSGQUEUE":
		return unix.RLIMIT_MSGQUEUE, true
	case "NICE":
		return unix.RLIMIT_NICE, true
	case "RTPRIO":
		return unix.RLIMIT_RTPRIO, true
	case "RTTIME":
		return unix.RLIMIT_RTTIME, true
	}
	return 0, false
}
