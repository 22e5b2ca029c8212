package main

import (
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
)

// elapsed is how long the present or last attempt of a job has run, without the time in
// which it was suspended; 0: it has not.
func elapsed(j api.Job, now time.Time) time.Duration {
	end := now
	switch {
	case j.StartedAt.IsZero():
		return 0
	case !j.EndedAt.IsZero():
		end = j.EndedAt
	case isSuspended(j):
		end = j.SuspendedAt
	}
	return max(0, end.Sub(j.StartedAt)-time.Duration(j.SuspendedSeconds)*time.Second)
}

// remaining is how long a job that runs may go on, and whether there is a limit to that.
func remaining(j api.Job, now time.Time) (left time.Duration, limited bool) {
	if j.TimeLimit == 0 || j.StartedAt.IsZero() || j.State.Terminal() {
		return 0, false
	}
	return max(0, j.TimeLimit.Duration()-elapsed(j, now)), true
}

// ranText is elapsed for people; "" for what has not run.
func ranText(j api.Job, now time.Time) string {
	if j.StartedAt.IsZero() {
		return ""
	}
	return term.Age(elapsed(j, now))
}

// rawElapsed is elapsed in seconds, for machines.
func rawElapsed(j api.Job, now time.Time) string {
	if j.StartedAt.IsZero() {
		return ""
	}
	return number(int64(elapsed(j, now) / time.Second))
}

// leftText is remaining for people.
func leftText(j api.Job, now time.Time) string {
	left, limited := remaining(j, now)
	if !limited {
		return ""
	}
	return term.Age(left)
}

// rawLeft is remaining in seconds, for machines.
func rawLeft(j api.Job, now time.Time) string {
	left, limited := remaining(j, now)
	if !limited {
		return ""
	}
	return number(int64(left / time.Second))
}

// limitText is the time limit of a job that has one.
func limitText(j api.Job) string {
	if j.TimeLimit == 0 {
		return ""
	}
	return limitOf(j)
}
