package api

import (
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/words"
)

// Code is a kind of error. Only the codes below are used.
type Code string

// The codes. ExitStatus returns the exit status of the command line for each of them.
const (
	CodeInternal    Code = "internal"
	CodeUsage       Code = "usage"        // the request is malformed
	CodeNotFound    Code = "not-found"    // no such job or GPU
	CodeForbidden   Code = "forbidden"    // not permitted
	CodeUnreachable Code = "unreachable"  // the daemon does not answer
	CodeNever       Code = "never"        // this machine can never do this
	CodeWaitTimeout Code = "wait-timeout" // the time limit of the wait passed before the job ended
	CodePolicy      Code = "policy"       // refused by the site's rules
	CodeConflict    Code = "conflict"     // not possible in this state, such as cancelling an ended job
	CodeUnavailable Code = "unavailable"  // not possible for the moment, such as with a full disk
)

// exitStatus has the exit statuses of the command line.
var exitStatus = map[Code]int{
	CodeInternal: 1, CodeConflict: 1, CodeUnavailable: 1,
	CodeUsage: 2, CodeNotFound: 3, CodeForbidden: 4, CodeUnreachable: 5,
	CodeNever: 6, CodeWaitTimeout: 7, CodePolicy: 8,
}

// httpStatus has the HTTP statuses of replies.
var httpStatus = map[Code]int{
	CodeInternal: 500, CodeUsage: 400, CodeNotFound: 404, CodeForbidden: 403, CodeUnreachable: 502,
	CodeNever: 422, CodeWaitTimeout: 408, CodePolicy: 429, CodeConflict: 409, CodeUnavailable: 503,
}

// ExitStatus returns the code's exit status; unknown codes have 1.
func (c Code) ExitStatus() int {
	if n, ok := exitStatus[c]; ok {
		return n
	}
	return 1
}

// CodeOf returns the code that has an exit status. If several codes have that status, CodeOf
// returns CodeInternal.
func CodeOf(status int) Code {
	for code, n := range exitStatus {
		if n == status && n != CodeInternal.ExitStatus() {
			return code
		}
	}
	return CodeInternal
}

// HTTPStatus returns the code's HTTP status, which is 500 for unknown codes.
func (c Code) HTTPStatus() int {
	if n, ok := httpStatus[c]; ok {
		return n
	}
	return 500
}

// Error says why something was refused or failed. Message says what and why, and Hint what to do
// next.
type Error struct {
	Code    Code        `json:"code"`
	Message string      `json:"message"`
	Hint    string      `json:"hint,omitempty"`
	Say     job.Message `json:"say,omitzero"` // Message and Hint as a code with arguments

	sent  bool          // the daemon may have got the request (client only)
	retry bool          // the daemon did not carry out the request, which may be repeated (client only)
	after time.Duration // time to wait before the request is repeated
}

// Text returns the message for a reader, with the hint in brackets.
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

// ErrorReply is an Error in JSON.
type ErrorReply struct {
	Schema string `json:"schema"`
	Error  Error  `json:"error"`
}
