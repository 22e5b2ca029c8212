package job

// Kept is what was decided of an attempt after its unit was made, which that therefore
// does not tell: it is kept beside the state file, which may be lost.
type Kept struct {
	TimeLimit Span `json:"time_limit_seconds"`
	Suspension
}
