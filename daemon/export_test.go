package daemon

// TrialsTurn holds a value while somebody has the turn to try changes of a job.
func (d *Daemon) TrialsTurn() chan struct{} { return d.trials.turn }

// Trying is the number of persons with a trial or waiting for one.
func (d *Daemon) Trying() int { return d.trials.persons.Keys() }

// PieceLen is the number of commands in one step.
const PieceLen = pieceLen
