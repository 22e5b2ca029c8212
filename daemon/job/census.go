package job

import "time"

// Census counts the jobs that have not ended. An array counts as one job until its tasks start;
// each task counts from its start.
type Census struct {
	Jobs   map[CensusKey]int
	Held   int          // queued jobs that may not start even if GPUs are free
	Oldest time.Time    // when the longest waiting of the other jobs began to wait; zero: none waits
	Users  []UserCensus // if asked for: the users with the most GPUs, then all others as one
}

// CensusKey is the state and class by which a census counts jobs.
type CensusKey struct {
	State State
	Class Class
}

// UserCensus is one user's part of a census.
type UserCensus struct {
	Name           string
	Queued, Active int // jobs
	Milli          int // GPUs of all models
}

// OtherUsers is the name under which a census sums up the users that it does not name. useradd(8)
// creates no account of this name; other tools could.
const OtherUsers = "(other)"
