package api

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// PastJob is a job that has ended, or one attempt of it, with what is reckoned of it. What
// is absent is unknown.
type PastJob struct {
	Job

	EligibleAt     time.Time `json:"eligible_at,omitzero"` // from when its wait counts
	WaitSeconds    *float64  `json:"wait_seconds,omitempty"`
	ElapsedSeconds *float64  `json:"elapsed_seconds,omitempty"` // from its start to its end; absent: it never started
	GPUSeconds     float64   `json:"gpu_seconds"`               // for which it held GPUs, times their number
	EnergyJoules   *float64  `json:"energy_joules,omitempty"`   // its part of what its GPUs took

	GPUBusyPeak  *int       `json:"gpu_busy_peak_percent,omitempty"` // the most that one of them computed in a sample
	GPUPeakBytes *int64     `json:"gpu_peak_bytes,omitempty"`        // of GPU memory, of all its GPUs
	GPUMeanBytes *int64     `json:"gpu_mean_bytes,omitempty"`
	Efficiency   Efficiency `json:"efficiency"`
}

// Efficiency is what was used of what was asked, in percent. What is absent is unknown.
type Efficiency struct {
	GPU    *float64 `json:"gpu_percent,omitempty"`     // of the time, the GPUs computed
	GPUMem *float64 `json:"gpu_mem_percent,omitempty"` // at the peak, of the GPU memory that was asked
	Mem    *float64 `json:"mem_percent,omitempty"`     // the same of the host's
	CPU    *float64 `json:"cpu_percent,omitempty"`     // CPU time, of that of the CPUs it counted for
	Time   *float64 `json:"time_percent,omitempty"`    // run time, of the time limit
}

// HistoryReply answers for a part of the jobs that have ended.
type HistoryReply struct {
	Schema string    `json:"schema"`
	Jobs   []PastJob `json:"jobs"`
	Next   string    `json:"next,omitempty"` // HistoryQuery.After for what follows; absent: that is all
}

// HistoryQuery selects jobs that have ended; zero fields select all of them.
type HistoryQuery struct {
	IDs          string    // such as "12,14-16,7_3"
	Array        job.ID    // tasks of this array
	Since, Until time.Time // that ended from then, and before then
	User         string
	UID          *int
	States       []job.State
	Name         string // with exactly this name
	Tag          string // with this tag, KEY=VALUE, or KEY whatever its value
	Newest       bool   // the newest end first; else the oldest
	Attempts     bool   // a row for each attempt
	Limit        int    // jobs in one answer, 1000 at most (50 with Attempts) and where it is 0
	After        string // the Next of the answer before
}

func (q HistoryQuery) encode() string {
	v := url.Values{}
	set := func(key, value string) {
		if value != "" {
			v.Set(key, value)
		}
	}
	set("ids", q.IDs)
	set("since", queryTime(q.Since))
	set("until", queryTime(q.Until))
	set("user", q.User)
	set("name", q.Name)
	set("tag", q.Tag)
	set("after", q.After)
	var states []string
	for _, s := range q.States {
		states = append(states, string(s))
	}
	set("states", strings.Join(states, ","))
	if q.UID != nil {
		set("uid", strconv.Itoa(*q.UID))
	}
	if q.Array != 0 {
		set("array", q.Array.String())
	}
	if q.Limit > 0 {
		set("limit", strconv.Itoa(q.Limit))
	}
	if q.Newest {
		set("order", "newest")
	}
	if q.Attempts {
		set("attempts", "1")
	}
	if len(v) == 0 {
		return ""
	}
	return "?" + v.Encode()
}

func queryTime(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(time.RFC3339Nano)
}

// History returns the jobs that have ended and match, or the first of them: what follows is
// asked for with After.
func (c *Client) History(ctx context.Context, q HistoryQuery) (out HistoryReply, err error) {
	return out, c.call(ctx, http.MethodGet, "/v1/history"+q.encode(), nil, &out)
}

// EachPast calls f for every job that has ended and matches, in the order of the query,
// asking for as many answers as that takes. It stops at the first error.
func (c *Client) EachPast(ctx context.Context, q HistoryQuery, f func(PastJob) error) error {
	for {
		page, err := c.History(ctx, q)
		if err != nil {
			return err
		}
		for i := range page.Jobs {
			if err := f(page.Jobs[i]); err != nil {
				return err
			}
		}
		if q.After = page.Next; q.After == "" {
			return nil
		}
	}
}
