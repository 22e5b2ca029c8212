package units

// The steps of a start that whoever asks systemd for it reports.
const (
	StepQueued   = "queued"   // systemd has answered: the start of the unit waits for its turn
	StepExecuted = "executed" // systemd has said that the launcher is executed
)

// MarkKey is the key of a func(step string) in a context: it is called with each step
// that a start takes, in the moment in which it is taken.
type MarkKey struct{}
