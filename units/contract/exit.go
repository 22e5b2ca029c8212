package contract

// Exit is how a unit's main process ended.
type Exit struct {
	Code    int // exit status; 0 where Signal is set
	Signal  int
	OOM     bool   // the kernel killed it for memory
	Stopped bool   // it ended while systemd was stopping its unit, on whoever's order
	Launch  Step   // "": the command began
	Errno   int    // of the launch failure; 0 unknown
	Detail  string // for people: which step of systemd's failed
}
