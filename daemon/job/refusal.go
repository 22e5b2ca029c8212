package job

import "strings"

// RefusalKind is the kind of a refusal. The API uses it as the code of the error.
type RefusalKind string

// The kinds.
const (
	RefusedUsage       RefusalKind = "usage"       // the request is malformed
	RefusedNotFound    RefusalKind = "not-found"   // there is no such job or GPU
	RefusedForbidden   RefusalKind = "forbidden"   // the user is not permitted to do this
	RefusedNever       RefusalKind = "never"       // this machine can never do this
	RefusedPolicy      RefusalKind = "policy"      // the site's rules forbid this
	RefusedConflict    RefusalKind = "conflict"    // the state of the job or GPU does not allow this
	RefusedUnavailable RefusalKind = "unavailable" // this is not possible at the moment
)

// Refusal is an error for the person who made a request. Its code begins with its kind.
type Refusal struct{ Message }

// Refuse returns a Refusal with a code and its arguments.
func Refuse(code Code, args ...any) *Refusal { return &Refusal{Say(code, args...)} }

// Kind returns the kind, the first part of the code.
func (r *Refusal) Kind() RefusalKind {
	kind, _, _ := strings.Cut(string(r.Code), "/")
	return RefusalKind(kind)
}

// Error returns the code and its arguments. Package words has the sentence for them.
func (r *Refusal) Error() string { return r.String() }

// Problems are all faults that were found in one submission or configuration.
type Problems []Message

// Error joins the codes, one per line.
func (p Problems) Error() string {
	return strings.Join(Each(p, Message.String), "\n")
}

// Err returns p as an error, or nil if there is no problem.
func (p Problems) Err() error {
	if len(p) == 0 {
		return nil
	}
	return p
}

func (p *Problems) add(code Code, args ...any) { *p = append(*p, Say(code, args...)) }
