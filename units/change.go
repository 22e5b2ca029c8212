package units

// Change is a hint that something may have happened to the unit Name, or, with Resync, to any unit:
// the bus was lost, or systemd reloaded. It has no state on purpose: read the unit's status. The
// end of a main process always causes a Change. The effects of a call (the unit runs, the unit is
// gone) need not, nor does a new status line.
type Change struct {
	Name   string
	Resync bool
}
