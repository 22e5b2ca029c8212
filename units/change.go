package units

// Change is a hint that something may have happened to the unit Name. With Resync it may have
// happened to any unit, because the bus was lost or systemd reloaded. A Change has no state on
// purpose: read the unit's status. The end of a main process always causes a Change. The effects of
// a call (the unit runs, the unit is gone) and a new status line may cause none.
type Change struct {
	Name   string
	Resync bool
}
