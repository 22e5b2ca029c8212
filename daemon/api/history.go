package api

import (
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
	IDs   string    `query:"ids"`   // such as "12,14-16,7_3"
	Array job.ID    `query:"array"` // tasks of this array
	Since time.Time `query:"since" wrong:"%q is not a time such as 2026-11-22T08:00:00Z"`
	Until time.Time `query:"until" wrong:"%q is not a time such as 2026-11-22T08:00:00Z"` // that ended before then
	User  string    `query:"user"`
	UID   *int      `query:"uid" in:"0-4294967295" wrong:"no account named %q on this machine"`

	States   []job.State `query:"states"`
	Name     string      `query:"name"`     // with exactly this name
	Tag      string      `query:"tag"`      // with this tag, KEY=VALUE, or KEY whatever its value
	Order    string      `query:"order"`    // "newest": the newest end first; else the oldest
	Attempts bool        `query:"attempts"` // a row for each attempt
	// Limit is how many jobs one answer has, 1000 at most (50 with Attempts) and where it is 0.
	Limit int    `query:"limit" in:"1-1000" wrong:"%q is not a number of ended jobs: use 1 to 1000"`
	After string `query:"after"` // the Next of the answer before
}
