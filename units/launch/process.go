package launch

import (
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/gpusched/gpusched/units/contract"
)

// In addition to the environment, a new program inherits the following from its process.

// closeOnExec marks every descriptor above 2, so that the command gets only its standard three.
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

// defaultSignals restores the default action of every ignored signal; execve resets handlers by
// itself. The function bypasses Go's runtime, which would keep its own handlers.
func defaultSignals() {
	for sig := uintptr(1); sig <= contract.MaxSignal; sig++ {
		var action sigaction
		_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, sig, 0, uintptr(unsafe.Pointer(&action)),
			contract.MaxSignal/8, 0, 0)
		if errno == 0 && action[0] == sigIgnore {
			setAction(sig, sigDefault)
		}
	}
}

// sigaction is the kernel's struct of that name. It begins with the handler and has four words on
// all 64-bit machines. SIG_DFL and SIG_IGN need only the handler.
type sigaction [8]uintptr

func setAction(sig, handler uintptr) {
	action := sigaction{handler}
	unix.RawSyscall6(unix.SYS_RT_SIGACTION, sig, uintptr(unsafe.Pointer(&action)), 0, contract.MaxSignal/8, 0, 0)
}

const (
	sigDefault = 0 // SIG_DFL
	sigIgnore  = 1 // SIG_IGN
)

// setLimits applies the limits of the spec, but never exceeds the unit's own.
func setLimits(limits []contract.Limit) error {
	resources := resources()
	for _, l := range limits {
		resource, ok := resources[l.Name]
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

// resources returns the resources that can be limited, by systemd's names.
func resources() map[string]int {
	return map[string]int{
		"CPU":        unix.RLIMIT_CPU,
		"FSIZE":      unix.RLIMIT_FSIZE,
		"DATA":       unix.RLIMIT_DATA,
		"STACK":      unix.RLIMIT_STACK,
		"CORE":       unix.RLIMIT_CORE,
		"RSS":        unix.RLIMIT_RSS,
		"NPROC":      unix.RLIMIT_NPROC,
		"NOFILE":     unix.RLIMIT_NOFILE,
		"MEMLOCK":    unix.RLIMIT_MEMLOCK,
		"AS":         unix.RLIMIT_AS,
		"LOCKS":      unix.RLIMIT_LOCKS,
		"SIGPENDING": unix.RLIMIT_SIGPENDING,
		"MSGQUEUE":   unix.RLIMIT_MSGQUEUE,
		"NICE":       unix.RLIMIT_NICE,
		"RTPRIO":     unix.RLIMIT_RTPRIO,
		"RTTIME":     unix.RLIMIT_RTTIME,
	}
}
