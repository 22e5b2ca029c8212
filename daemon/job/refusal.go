package job

import "strings"

// RefusalKind is the kind of a refusal, and the API's code of the error.
type RefusalKind string

// The kinds.
const (
	RefusedUsage       RefusalKind = "usage"       // malformed
	RefusedNotFound    RefusalKind = "not-found"   // no such job or GPU
	RefusedForbidden   RefusalKind = "forbidden"   // not permitted
	RefusedNever       RefusalKind = "never"       // this machine can never do it
	RefusedPolicy      RefusalKind = "policy"      // against the site's rules
	RefusedConflict    RefusalKind = "conflict"    // not possible in the job's or GPU's state
	RefusedUnavailable RefusalKind = "unavailable" // not possible at the moment
)

// Refusal is an error for the person who asked. Its code begins with its kind.
type Refusal struct{ Message }

// Refuse returns a Refusal with a code and its arguments.
func Refuse(code Code, args ...any) *Refusal { return &Refusal{Say(code, args...)} }

// Kind returns the kind, the first part of the code.
func (r *Refusal) Kind() RefusalKind {
	kind, _, _ := strings.Cut(string(r.Code), "/")
	return RefusalKind(kind)
}

// Error returns the code and its arguments; package words has the sentence.
func (r *Refusal) Error() string { return r.String() }

// Problems are all faults found in one submission or configuration.
type Problems []Message

// Error joins the codes, one per line.
func (p Problems) Error() string {
	list := make([]string, len(p))
	for i, m := range p {
		list[i] = m.String()
	}
	return strings.Join(list, "\n")
}

// Err returns nil when there is no problem.
func (p Problems) Err() error {
	if len(p) == 0 {
		return nil
	}
	return p
}

func (p *Problems) add(code Code, args ...any) { *p = append(*p, Say(code, args...)) }
