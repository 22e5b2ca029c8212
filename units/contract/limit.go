package contract

// Limit is one resource limit of the submitter, by systemd's name without
// "Limit" (NOFILE, MEMLOCK, …). Unlimited is math.MaxUint64.
type Limit struct {
	Name string `json:"name"`
	Soft uint64 `json:"soft"`
	Hard uint64 `json:"hard"` // to the launcher, 0 is as the unit has it
}

// LeastLimit is the least soft limit of this name under which the launcher can do its work, and systemd execute it; 0:
// any.
func LeastLimit(name string) uint64 {
	switch name {
	case "NOFILE":
		return 64
	case "STACK":
		return 1 << 20 // bytes
	}
	return 0
}
