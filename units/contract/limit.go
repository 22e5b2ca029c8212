package contract

// Limit is one resource limit of the submitter, named as in systemd without "Limit" (NOFILE,
// MEMLOCK, …). Unlimited is math.MaxUint64.
type Limit struct {
	Name string `json:"name"`
	Soft uint64 `json:"soft"`
	Hard uint64 `json:"hard"` // for the launcher; 0: the hard limit stays as in the unit
}

// LeastLimit returns the smallest soft limit of this name under which systemd can execute the
// launcher and the launcher can work; 0: any limit.
func LeastLimit(name string) uint64 {
	switch name {
	case "NOFILE":
		return 64
	case "STACK":
		return 1 << 20 // bytes
	}
	return 0
}
