package api

import (
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// PastJob is a job that has ended, or one attempt of such a job, with figures computed from it.
// Absent values are unknown.
type PastJob struct {
	Job

	EligibleAt     time.Time `json:"eligible_at,omitzero"` // time at which the job's wait began
	WaitSeconds    *float64  `json:"wait_seconds,omitempty"`
	ElapsedSeconds *float64  `json:"elapsed_seconds,omitempty"` // time from start to end; absent: the job never started
	GPUSeconds     float64   `json:"gpu_seconds"`               // time that the job had its GPUs, times their number
	EnergyJoules   *float64  `json:"energy_joules,omitempty"`   // the job's part of the energy that its GPUs used

	GPUBusyPeak  *int       `json:"gpu_busy_peak_percent,omitempty"` // highest utilization of one of its GPUs in a sample
	GPUPeakBytes *int64     `json:"gpu_peak_bytes,omitempty"`        // highest use of GPU memory, summed over its GPUs
	GPUMeanBytes *int64     `json:"gpu_mean_bytes,omitempty"`
	Efficiency   Efficiency `json:"efficiency"`
}

// Efficiency says how much of its request a job used, in percent. Absent values are unknown.
type Efficiency struct {
	GPU    *float64 `json:"gpu_percent,omitempty"`     // percentage of the time in which the job's GPUs computed
	GPUMem *float64 `json:"gpu_mem_percent,omitempty"` // peak of GPU memory, relative to the request
	Mem    *float64 `json:"mem_percent,omitempty"`     // peak of host memory, relative to the request
	CPU    *float64 `json:"cpu_percent,omitempty"`     // CPU time, relative to the run time of all its CPUs
	Time   *float64 `json:"time_percent,omitempty"`    // run time, relative to the time limit
}

// HistoryReply is a page of ended jobs.
type HistoryReply struct {
	Schema string    `json:"schema"`
	Jobs   []PastJob `json:"jobs"`
	Next   string    `json:"next,omitempty"` // HistoryQuery.After for the next page; absent: this is the last page
}

// HistoryQuery selects ended jobs. The zero HistoryQuery selects all of them.
type HistoryQuery struct {
	IDs   string    `query:"ids"`   // such as "12,14-16,7_3"
	Array job.ID    `query:"array"` // only tasks of this array
	Since time.Time `query:"since" wrong:"%q is not a time such as 2026-11-22T08:00:00Z"`
	Until time.Time `query:"until" wrong:"%q is not a time such as 2026-11-22T08:00:00Z"` // jobs that ended earlier
	User  string    `query:"user"`
	UID   *int      `query:"uid" in:"0-4294967295" wrong:"no account named %q on this machine"`

	States   []job.State `query:"states"`
	Name     string      `query:"name"`     // exact name
	Tag      string      `query:"tag"`      // KEY=VALUE, or KEY for any value
	Order    string      `query:"order"`    // "newest": the job that ended last is first; otherwise oldest first
	Attempts bool        `query:"attempts"` // each attempt has a row
	// Limit is the largest number of jobs on a page. The maximum is 1000,
	// or 50 with Attempts. 0 means the maximum.
	Limit int    `query:"limit" in:"1-1000" wrong:"%q is not a number of ended jobs: use 1 to 1000"`
	After string `query:"after"` // HistoryReply.Next of the previous page
}
