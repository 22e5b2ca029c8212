package cli

import (
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
)

// remaining returns how long a running job may still run, and whether it has a time limit at all.
func remaining(j api.Job, now time.Time) (left time.Duration, limited bool) {
	if j.TimeLimit == 0 || j.StartedAt.IsZero() || j.State.Terminal() {
		return 0, false
	}
	return max(0, j.TimeLimit.Duration()-j.Elapsed(now)), true
}

// RanText formats how long a job has run, or "" if it has not started.
func RanText(j api.Job, now time.Time) string {
	if j.StartedAt.IsZero() {
		return ""
	}
	return term.Age(j.Elapsed(now))
}

// rawElapsed is the same as RanText, but in seconds for programs.
func rawElapsed(j api.Job, now time.Time) string {
	if j.StartedAt.IsZero() {
		return ""
	}
	return Number(int64(j.Elapsed(now) / time.Second))
}

// leftText formats the remaining time for people.
func leftText(j api.Job, now time.Time) string {
	left, limited := remaining(j, now)
	if !limited {
		return ""
	}
	return term.Age(left)
}

// rawLeft returns the remaining time in seconds, for programs.
func rawLeft(j api.Job, now time.Time) string {
	left, limited := remaining(j, now)
	if !limited {
		return ""
	}
	return Number(int64(left / time.Second))
}

func limitText(j api.Job) string {
	if j.TimeLimit == 0 {
		return ""
	}
	return LimitOf(j)
}
