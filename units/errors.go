package units

import (
	"errors"
	"fmt"
)

var (
	// ErrExists means that a unit of this name exists already: it runs, or its result was not
	// collected. The caller must adopt the unit.
	ErrExists = errors.New("unit exists already")

	// ErrBus means that systemd could not be reached or its answer was lost. The error is
	// temporary. The outcome of the call is unknown: read the unit's status before anything else.
	ErrBus = errors.New("no answer from systemd")

	// ErrNotNow means that systemd starts no such unit at the moment, because the machine is going
	// down or a slice is being stopped. Nothing was started.
	ErrNotNow = errors.New("systemd starts no such unit at the moment")

	// ErrAbsent means that there is no unit of this name.
	ErrAbsent = errors.New("no such unit")

	// ErrFailed means that a unit was started and failed.
	ErrFailed = errors.New("it failed")

	// ErrProcesses means that a stop has ended but processes of the unit remain, for example
	// because a driver holds them in the kernel. The GPUs of the unit are not free.
	ErrProcesses = errors.New("processes of the unit could not be killed")
)

// StartError reports a start that systemd accepted and that then failed: the launcher was not
// executed. The failed unit stays until it is stopped.
type StartError struct {
	JobResult string // failed, timeout, canceled, dependency, …
	Status    Status // of the unit, after the failure
}

// Error names the step that failed, if systemd reports it.
func (e *StartError) Error() string {
	_, exit := Decode(e.Status)
	text := fmt.Sprintf("start job of %q: %s", e.Status.Name, e.JobResult)
	if exit.Detail != "" {
		text += ": " + exit.Detail
	}
	return text
}

// These results of systemd's start jobs say more than the unit's state.
const (
	JobFailed     = "failed"
	JobTimeout    = "timeout"
	JobDependency = "dependency" // another unit that it needs did not start
	JobAssert     = "assert"     // an Assert…= condition of the unit is not met
	JobUnknown    = "unknown"    // our own word: the end of the start job was not reported
	JobSkipped    = "skipped"    // our own word, in place of done: a condition was not met, and the unit is unchanged
)

// RefusedError reports a start that systemd refused to queue, for example because the slice is
// masked, a property is invalid, the user does not exist, or there are too many units.
type RefusedError struct {
	Name    string // of the unit
	Code    string // the D-Bus error name
	Message string
}

// Error returns systemd's own words.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("start unit %q: systemd refused: %s (%s)", e.Name, e.Message, e.Code)
}
