package daemon

// TrialsTurn is the turn of those who try what would have a job start sooner.
func (d *Daemon) TrialsTurn() chan struct{} { return d.trials.turn }

// Trying is how many persons try that, or wait for their turn.
func (d *Daemon) Trying() int { return d.trials.persons.Keys() }

// PieceLen is how many commands are one step.
const PieceLen = pieceLen
