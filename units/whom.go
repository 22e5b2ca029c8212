package units

// Whom selects the processes of a unit that get a signal, in systemd's words.
type Whom string

// The processes of a unit.
const (
	All  Whom = "all"
	Main Whom = "main" // the main process alone
)
