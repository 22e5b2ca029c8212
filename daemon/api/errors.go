package api

import (
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/words"
)

// Code is a kind of error, from a closed list.
type Code string

// The codes. Each has one exit status of the CLI (ExitStatus).
const (
	CodeInternal    Code = "internal"
	CodeUsage       Code = "usage"        // the request is malformed
	CodeNotFound    Code = "not-found"    // no such job or GPU
	CodeForbidden   Code = "forbidden"    // not permitted
	CodeUnreachable Code = "unreachable"  // the daemon does not answer
	CodeNever       Code = "never"        // can never be met by this machine
	CodeWaitTimeout Code = "wait-timeout" // the wait was shorter than the job
	CodePolicy      Code = "policy"       // refused by the site's rules
	CodeConflict    Code = "conflict"     // not in this state, such as cancelling an ended job
	CodeUnavailable Code = "unavailable"  // for the moment, such as a full disk
)

// exitStatus is the table of CLI.md.
var exitStatus = map[Code]int{
	CodeInternal: 1, CodeConflict: 1, CodeUnavailable: 1,
	CodeUsage: 2, CodeNotFound: 3, CodeForbidden: 4, CodeUnreachable: 5,
	CodeNever: 6, CodeWaitTimeout: 7, CodePolicy: 8,
}

// httpStatus is how a code travels.
var httpStatus = map[Code]int{
	CodeInternal: 500, CodeUsage: 400, CodeNotFound: 404, CodeForbidden: 403, CodeUnreachable: 502,
	CodeNever: 422, CodeWaitTimeout: 408, CodePolicy: 429, CodeConflict: 409, CodeUnavailable: 503,
}

// ExitStatus returns the CLI's exit status for the code; unknown codes are 1.
func (c Code) ExitStatus() int {
	if n, ok := exitStatus[c]; ok {
		return n
	}
	return 1
}

// CodeOf returns the code that an exit status of the CLI stands for; CodeInternal where it stands for several.
func CodeOf(status int) Code {
	for code, n := range exitStatus {
		if n == status && n != CodeInternal.ExitStatus() {
			return code
		}
	}
	return CodeInternal
}

// HTTPStatus returns the HTTP status for the code; unknown codes are 500.
func (c Code) HTTPStatus() int {
	if n, ok := httpStatus[c]; ok {
		return n
	}
	return 500
}

// Error is what goes over the wire when something is refused: what and why in
// Message, what next in Hint.
type Error struct {
	Code    Code        `json:"code"`
	Message string      `json:"message"`
	Hint    string      `json:"hint,omitempty"`
	Say     job.Message `json:"say,omitzero"` // both, before they are in words

	sent  bool          // the request may have arrived (client only)
	retry bool          // the request was not looked at and may be made again (client only)
	after time.Duration // and this is how long to wait first
}

// Text says what and why, and what next in brackets.
func (e *Error) Text(r words.Reader) string {
	if e.Say.IsZero() {
		return e.Error()
	}
	return r.Say(e.Say)
}

// Error returns the message with the hint in brackets.
func (e *Error) Error() string {
	if e.Hint == "" {
		return e.Message
	}
	return e.Message + " (" + e.Hint + ")"
}

// ErrorReply wraps an Error on the wire.
type ErrorReply struct {
	Schema string `json:"schema"`
	Error  Error  `json:"error"`
}
