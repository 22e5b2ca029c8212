package launch

import (
	"errors"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/gpusched/gpusched/units/contract"
)

// Failure is the reason why the command did not begin.
type Failure struct {
	Step contract.Step
	What string // completes "the job could not start: "
	Err  error  // the cause, or nil
	Next string // what to do about it
	path string // path of the file that could not be run, if it is not the command
}

// Error says what failed, why, and what to do.
func (f *Failure) Error() string {
	s := f.What
	if f.Err != nil {
		s += ": " + f.Err.Error()
	}
	if f.Next != "" {
		s += " (" + f.Next + ")"
	}
	return s
}

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Err }

// Errno returns the failure's error number, or 0.
func (f *Failure) Errno() int {
	var e unix.Errno
	if errors.As(f.Err, &e) {
		return int(e)
	}
	return 0
}

// message returns the message to the service manager.
func (f *Failure) message() string {
	s := "STATUS=" + contract.StatusPrefix + string(f.Step)
	if n := f.Errno(); n != 0 {
		s += "\nERRNO=" + strconv.Itoa(n)
	}
	return s
}
