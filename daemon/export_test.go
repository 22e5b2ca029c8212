package daemon

// TrialsTurn returns a channel for one value. The channel has a value while somebody tries changes
// of a job.
func (d *Daemon) TrialsTurn() chan struct{} { return d.trials.turn }

// Trying returns the number of persons who run a trial or wait for one.
func (d *Daemon) Trying() int { return d.trials.persons.Keys() }

// PieceLen is the number of commands that one step carries out.
const PieceLen = pieceLen
