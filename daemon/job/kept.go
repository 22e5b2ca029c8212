package job

// Kept is the part of an attempt's state that was decided after its unit was made, so that the unit
// does not carry it. It is stored beside the state file, which may be lost.
type Kept struct {
	TimeLimit Span `json:"time_limit_seconds"`
	Suspension
}
