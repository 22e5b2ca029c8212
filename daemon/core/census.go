package core

import (
	"cmp"
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// Census counts the jobs that have not ended, and what so many users have: the others'
// is added up. With none no user is named.
func (c *Core) Census(users int) job.Census {
	n := job.Census{Jobs: map[job.Standing]int{}}
	of := map[string]job.UserCensus{}
	for id, l := range c.jobs.All() {
		j := l.Job
		n.Jobs[job.Standing{State: j.State, Class: j.Request.Priority.Class}]++
		if j.State == job.Queued {
			n.Oldest, n.Held = c.countQueued(id, j, &n)
		}
		if users > 0 {
			name := j.Person().User
			of[name] = countFor(of[name], name, j)
		}
	}
	n.Users = mostFirst(of, users)
	return n
}

// countQueued returns the census's Oldest and Held with one more queued job.
func (c *Core) countQueued(id job.ID, j *job.Job, n *job.Census) (oldest time.Time, held int) {
	switch {
	case !c.planning.Has(id):
		return n.Oldest, n.Held + 1
	case n.Oldest.IsZero() || j.QueuedAt.Before(n.Oldest):
		return j.QueuedAt, n.Held
	}
	return n.Oldest, n.Held
}

// countFor returns what a user has with one more job.
func countFor(u job.UserCensus, name string, j *job.Job) job.UserCensus {
	u.Name = name
	switch {
	case j.State == job.Queued:
		u.Queued++
	case j.State.Live():
		u.Active++
		for _, g := range j.Attempt.GPUs {
			u.Milli += g.Share()
		}
	}
	return u
}

// mostFirst lists so many users, those with the most first, and the others as one.
func mostFirst(of map[string]job.UserCensus, users int) []job.UserCensus {
	list := make([]job.UserCensus, 0, len(of))
	for _, u := range of {
		list = append(list, u)
	}
	slices.SortFunc(list, func(x, y job.UserCensus) int {
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
