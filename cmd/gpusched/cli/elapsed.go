package cli

import (
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
)

// remaining is how long a job that runs may go on, and whether there is a limit to that.
func remaining(j api.Job, now time.Time) (left time.Duration, limited bool) {
	if j.TimeLimit == 0 || j.StartedAt.IsZero() || j.State.Terminal() {
		return 0, false
	}
	return max(0, j.TimeLimit.Duration()-j.Elapsed(now)), true
}

// RanText is Elapsed for people; "" for what has not run.
func RanText(j api.Job, now time.Time) string {
	if j.StartedAt.IsZero() {
		return ""
	}
	return term.Age(j.Elapsed(now))
}

// rawElapsed is Elapsed in seconds, for machines.
func rawElapsed(j api.Job, now time.Time) string {
	if j.StartedAt.IsZero() {
		return ""
	}
	return Number(int64(j.Elapsed(now) / time.Second))
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
	return Number(int64(left / time.Second))
}

// limitText is the time limit of a job that has one.
func limitText(j api.Job) string {
	if j.TimeLimit == 0 {
		return ""
	}
	return LimitOf(j)
}
