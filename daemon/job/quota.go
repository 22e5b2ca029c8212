package job

// Quota bounds what an account has at one time. 0 means no bound.
type Quota struct {
	GPUMilli int // of running jobs
	Running  int // jobs
	Queued   int // jobs; a submission above it is refused
	GPUHours int // decayed over the half-life of fair share
	Share    int // weight in fair share; 0 is 1 for a user, and for a group that it does not count
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
