package units

// Change says that something may have happened: to the unit Name, or, with
// Resync, to any unit at all (the bus was lost, or systemd reloaded). It
// carries no state on purpose: read the unit's status.
type Change struct {
	Name   string
	Resync bool
}
