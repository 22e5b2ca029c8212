package units

import (
	"errors"
	"fmt"
)

var (
	// ErrExists means that a unit of this name is there, running or with its
	// result still uncollected: it was started before and must be adopted.
	ErrExists = errors.New("unit exists already")

	// ErrBus means that systemd could not be reached or the answer was lost.
	// It is temporary, and the outcome of the call is unknown: read the unit's
	// status before anything else.
	ErrBus = errors.New("no answer from systemd")

	// ErrNotNow means that systemd starts no such unit for the moment: the machine
	// goes down, or a slice of it is being stopped. Nothing was started.
	ErrNotNow = errors.New("systemd starts nothing of the kind now")

	// ErrAbsent means that there is no unit of this name.
	ErrAbsent = errors.New("no such unit")

	// ErrProcesses means that a stop came to its end and processes of the unit
	// are still there, as when a driver holds them in the kernel. The GPUs of
	// the unit are not free.
	ErrProcesses = errors.New("processes of the unit could not be killed")
)

// StartError is a start that systemd took on and that came to nothing: the
// launcher was not executed. The unit is still there, failed, until it is stopped.
type StartError struct {
	JobResult string // failed, timeout, canceled, dependency, …
	Status    Status // the unit's, after that
}

// Error says which step failed, as far as systemd tells.
func (e *StartError) Error() string {
	_, exit := Decode(e.Status)
	text := fmt.Sprintf("start job of %q: %s", e.Status.Name, e.JobResult)
	if exit.Detail != "" {
		text += ": " + exit.Detail
	}
	return text
}

// The results of a start job that say more than the unit.
const (
	JobFailed     = "failed"
	JobTimeout    = "timeout"
	JobDependency = "dependency" // another unit that it needs did not start
	JobAssert     = "assert"     // Assert…= of the unit does not hold
	JobUnknown    = "unknown"    // ours: nothing was heard of its end
	JobSkipped    = "skipped"    // ours, for done: a condition was not met, and the unit is as it was
)

// RefusedError is a unit that systemd would not even queue: its slice is masked, a
// property that it does not take, no such user, too many units.
type RefusedError struct {
	Name    string // of the unit
	Code    string // the D-Bus error name
	Message string
}

// Error returns systemd's own words.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("start unit %q: systemd refused: %s (%s)", e.Name, e.Message, e.Code)
}
