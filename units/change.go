package units

// Change says that something may have happened: to the unit Name, or, with
// Resync, to any unit at all (the bus was lost, or systemd reloaded). It
// carries no state on purpose: read the unit's status. The end of a main process
// is always told. What a call brings about until it returns (that a unit runs,
// that it is gone) need not be, nor what a unit says while it goes on running (its
// status line).
type Change struct {
	Name   string
	Resync bool
}
