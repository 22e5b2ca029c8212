package job

import "time"

// Census counts the jobs that have not ended. A task of an array counts from its start,
// before that its array does.
type Census struct {
	Jobs   map[Standing]int
	Held   int          // queued ones that may not start whatever is free
	Oldest time.Time    // since when the one of the others has waited that has longest; zero: none waits
	Users  []UserCensus // where they were asked for: the first with the most GPUs, then the others as one
}

// Standing is what a census counts jobs by.
type Standing struct {
	State State
	Class Class
}

// UserCensus is what one user has.
type UserCensus struct {
	Name           string
	Queued, Active int // jobs
	Milli          int // of GPUs, whatever their models
}

// OtherUsers is the name under which a census counts those together that it does not name.
// No account is called so by the rules of useradd(8), but by others it might.
const OtherUsers = "(other)"
