package job

import "time"

// Census counts the jobs that have not ended. Tasks that have not started count as one job with
// their array; each task that has started counts as a job.
type Census struct {
	Jobs   map[CensusKey]int
	Held   int          // queued jobs that could not start even if GPUs were free
	Oldest time.Time    // beginning of the longest wait of the other queued jobs; zero: none
	Users  []UserCensus // if asked for: the users with the most GPUs, then the sum of all others
}

// CensusKey is the state and class by which a census counts jobs.
type CensusKey struct {
	State State
	Class Class
}

// UserCensus is one user's part of a census.
type UserCensus struct {
	Name           string
	Queued, Active int // numbers of jobs
	Milli          int // GPUs of all models
}

// OtherUsers is the name under which a census sums up the users that it does not name. useradd(8)
// creates no account of this name, though other tools could.
const OtherUsers = "(other)"
