package contract

// Limit is one resource limit of the submitter, by systemd's name without
// "Limit" (NOFILE, MEMLOCK, …). Unlimited is math.MaxUint64.
type Limit struct {
	Name string `json:"name"`
	Soft uint64 `json:"soft"`
	Hard uint64 `json:"hard"` // to the launcher, 0 is as the unit has it
}
