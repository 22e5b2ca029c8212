package launch

import (
	"errors"
	"strconv"

	"golang.org/x/sys/unix"
)

// Code says in one word which step before the command failed. The words are
// those of job.Launch.
type Code string

// The codes.
const (
	CodeSpec   Code = "spec"
	CodeChdir  Code = "chdir"
	CodeExec   Code = "exec"
	CodeFilter Code = "filter"
	CodeLimits Code = "limits"
)

// ExitStatus is the launcher's exit status for the code. The numbers are what
// systemd uses for the like.
func (c Code) ExitStatus() int {
	switch c {
	case CodeSpec:
		return 225
	case CodeChdir:
		return 200
	case CodeExec:
		return 203
	case CodeFilter:
		return 226
	case CodeLimits:
		return 227
	}
	return 1
}

// What the launcher tells the service manager as its status line.
const (
	StatusPrefix     = "gpusched-launch:"         // a Code follows
	StatusBegun      = StatusPrefix + "begun"     // the first thing it does
	StatusUnfiltered = "gpusched-filter:inactive" // the command runs without the device filter
)

// Failure is why the command was not begun.
type Failure struct {
	Code Code
	What string // could not be done, in words that finish "the job could not start: "
	Err  error  // why, or nil
	Next string // what to do about it
}

// Error returns what, why and what next.
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

// Errno returns the error number behind the failure, or 0.
func (f *Failure) Errno() int {
	var e unix.Errno
	if errors.As(f.Err, &e) {
		return int(e)
	}
	return 0
}

// status is the message to the service manager.
func (f *Failure) status() string {
	s := "STATUS=" + StatusPrefix + string(f.Code)
	if n := f.Errno(); n != 0 {
		s += "\nERRNO=" + strconv.Itoa(n)
	}
	return s
}
