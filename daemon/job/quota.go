package job

// Quota is what an account may have at one time. 0 means no bound.
type Quota struct {
	GPUMilli int  // GPUs of running jobs
	Running  int  // number of running jobs
	Mem      Part // the part of the host memory for jobs that running jobs may take
	CPUs     Part // the part of the CPUs for jobs that running jobs may take
	Queued   int  // number of waiting jobs; further submissions are refused
	GPUHours int  // recent use, which decays with the half-life of fair share
	Share    int  // weight in fair share; 0: 1 for a user, and none for a group
}

// Part is a bound: a percentage of a total, or an amount. The zero value means that there is no
// bound.
type Part struct {
	Percent int
	Amount  int64
}

// Of returns the bound for a total. The result is at least 1, or 0 if there is no bound or if the
// total is unknown (0).
func (p Part) Of(all int64) int64 {
	switch {
	case p.Amount > 0:
		return p.Amount
	case p.Percent == 0 || all == 0:
		return 0
	}
	return max(1, all/100*int64(p.Percent)+all%100*int64(p.Percent)/100)
}

// Quotas are the bounds of every user, with exceptions by name. A user's quota is complete: Default
// fills in what the user's section omits. A group's quota bounds all its members together, in
// addition to their own quotas. What a group's section omits is not bounded.
type Quotas struct {
	Default Quota
	Users   map[string]Quota
	Groups  map[string]Quota
}
