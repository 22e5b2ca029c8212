package daemon

// TrialsTurn has room for one value. The value is in it while somebody tries changes of a job.
func (d *Daemon) TrialsTurn() chan struct{} { return d.trials.turn }

// Trying is the number of persons who run or wait for a trial.
func (d *Daemon) Trying() int { return d.trials.persons.Keys() }

// PieceLen is the number of commands that one step carries out.
const PieceLen = pieceLen
