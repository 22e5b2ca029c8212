package job

// RefusalKind says in which way a wish was refused.
type RefusalKind string

// The kinds; the server gives each an error code of the API.
const (
	RefusedUsage       RefusalKind = "usage"       // malformed
	RefusedNotFound    RefusalKind = "not-found"   // no such job or GPU
	RefusedForbidden   RefusalKind = "forbidden"   // not permitted
	RefusedNever       RefusalKind = "never"       // this machine can never meet it
	RefusedPolicy      RefusalKind = "policy"      // against the site's rules
	RefusedConflict    RefusalKind = "conflict"    // not in this state
	RefusedUnavailable RefusalKind = "unavailable" // not for the moment
)

// Refusal is an error meant for the person who asked: what and why in
// Message, what next in Hint.
type Refusal struct {
	Kind    RefusalKind
	Message string
	Hint    string
}

// Error returns the message and, in brackets, the hint.
func (r *Refusal) Error() string { return r.Message + inBrackets(r.Hint) }
