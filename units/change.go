package units

// Change is a hint that something may have happened to the unit Name. If Resync is true, something
// may have happened to any unit, because the bus was lost or systemd reloaded. A Change says
// nothing about the unit's state: its receiver reads the status. The end of a main process always
// causes a Change. The effects of a call (the unit runs, the unit is gone) and a new status line
// may cause no Change.
type Change struct {
	Name   string
	Resync bool
}
