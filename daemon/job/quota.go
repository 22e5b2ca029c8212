package job

// Quota bounds what an account may have at one time. 0 means no bound.
type Quota struct {
	GPUMilli int  // of running jobs
	Running  int  // jobs
	Mem      Part // of the host memory available to jobs; running jobs count
	CPUs     Part // of the CPUs available to jobs; running jobs count
	Queued   int  // waiting jobs; more submissions are refused
	GPUHours int  // used lately, decayed over the half-life of fair share
	Share    int  // weight in fair share; 0 is 1 for a user, and leaves a group out of it
}

// Part is a bound: a percentage of the total, or an amount. The zero value is no bound.
type Part struct {
	Percent int
	Amount  int64
}

// Of returns the bound for a total, at least 1. It is 0 if there is no bound, or if the total is
// unknown (0).
func (p Part) Of(all int64) int64 {
	switch {
	case p.Amount > 0:
		return p.Amount
	case p.Percent == 0 || all == 0:
		return 0
	}
	return max(1, all/100*int64(p.Percent)+all%100*int64(p.Percent)/100)
}

// Quotas are the bounds of every user, with the exceptions by name. A user's quota is complete:
// Default fills in what its section omits. A group's quota bounds all its members together, in
// addition to their own; what its section omits is not bounded.
type Quotas struct {
	Default Quota
	Users   map[string]Quota
	Groups  map[string]Quota
}
