package units

// The steps of a start that units/systemd reports.
const (
	StepQueued   = "queued"   // systemd has answered: the start waits for its turn
	StepExecuted = "executed" // systemd has reported that the launcher is executed
)

// MarkKey is the context key of a func(step string), which is called at each step of a start as the
// step happens.
type MarkKey struct{}
