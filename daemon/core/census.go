package core

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// Census counts the jobs that have not ended. It lists the given number of users with their jobs
// and GPUs, and sums up all other users. If users is 0, it lists none.
func (c *state) Census(users int) job.Census {
	n := job.Census{Jobs: map[job.CensusKey]int{}}
	of := map[string]job.UserCensus{}
	for id, l := range c.jobs.All() {
		n.Jobs[job.CensusKey{State: l.State, Class: l.Request.Priority.Class}]++
		switch {
		case l.State != job.Queued:
		case c.queue.Has(id):
			n.Oldest = job.Earlier(n.Oldest, l.QueuedAt)
		default:
			n.Held++
		}
		if users == 0 {
			continue
		}
		name := l.Person().User
		u := of[name]
		switch u.Name = name; {
		case l.State == job.Queued:
			u.Queued++
		case l.State.Live():
			u.Active++
			u.Milli += l.HeldMilli()
		}
		of[name] = u
	}
	n.Users = mostFirst(of, users)
	return n
}

// mostFirst sorts users by their number of GPUs, the largest number first. It lists the given
// number of users, and sums up all others in one entry.
func mostFirst(of map[string]job.UserCensus, users int) []job.UserCensus {
	list := slices.SortedFunc(maps.Values(of), func(x, y job.UserCensus) int {
		return cmp.Or(y.Milli-x.Milli, y.Active-x.Active, y.Queued-x.Queued, cmp.Compare(x.Name, y.Name))
	})
	if len(list) <= users {
		return list
	}
	rest := job.UserCensus{Name: job.OtherUsers}
	for _, u := range list[users:] {
		rest.Queued, rest.Active, rest.Milli = rest.Queued+u.Queued, rest.Active+u.Active, rest.Milli+u.Milli
	}
	return append(list[:users], rest)
}

// maxKinds is the largest number of kinds of jobs that Hopeless checks. Checking 5000 kinds takes
// some milliseconds.
const maxKinds = 5000

// Hopeless sums up queued jobs that can't start unless something changes.
type Hopeless struct {
	Jobs  int
	First string // the name of the first such job, for people
	Why   job.Message
	id    job.ID
}

// Hopeless returns two groups of queued jobs: those that ask for more than the machine has, and
// those that ask for more than a quota allows.
func (c *state) Hopeless(now time.Time) (machine, quota Hopeless) {
	have, seen := c.queue.Snapshot(now), 0
	for id, n := range c.queue.Kinds() {
		if seen++; seen > maxKinds {
			break
		}
		l := c.jobs.Get(id)
		if l.State != job.Queued {
			continue // it is parked, and has what it needs but its GPUs
		}
		if why := have.Never(l.Account, &l.Request); why != nil {
			h := &quota
			if have.Never(nil, &l.Request) != nil { // the job asks for more than the machine has
				h = &machine
			}
			if h.Jobs += n; h.id == 0 || id < h.id {
				h.id, h.First, h.Why = id, l.Called(), why.Message
			}
		}
	}
	return machine, quota
}
