package job

// Quota bounds what an account has at one time. 0 means no bound.
type Quota struct {
	GPUMilli int  // of running jobs
	Running  int  // jobs
	Mem      Part // of the host memory that jobs may have, of running jobs
	CPUs     Part // of the CPUs that jobs may have, the same
	Queued   int  // jobs; a submission above it is refused
	GPUHours int  // decayed over the half-life of fair share
	Share    int  // weight in fair share; 0 is 1 for a user, and for a group that it does not count
}

// Part is how much of something there may be: a percentage of all of it, or an
// amount. The zero value is no bound.
type Part struct {
	Percent int
	Amount  int64
}

// Of returns the part of so much, at least 1; 0 where there is no bound, or none of
// what is not counted (all is 0).
func (p Part) Of(all int64) int64 {
	switch {
	case p.Amount > 0:
		return p.Amount
	case p.Percent == 0 || all == 0:
		return 0
	}
	return max(1, all/100*int64(p.Percent)+all%100*int64(p.Percent)/100)
}

// Quotas are what every user may have, and the exceptions by name. A user's
// quota is complete: what its section leaves out is Default's. A group's is for
// all its members together and bounds them beside their own; what its section
// leaves out is not bounded.
type Quotas struct {
	Default Quota
	Users   map[string]Quota
	Groups  map[string]Quota
}
