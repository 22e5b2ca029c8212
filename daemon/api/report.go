package api

import (
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// ReportQuery says what a report is to count.
type ReportQuery struct {
	// By has rows for each user, group, gpu, tag, tag=KEY, day, week, month, class or name; two by a comma.
	By string `query:"by"`
	// Of what ran in between; zero Since: all on record; zero Until: now.
	Since time.Time `query:"since" wrong:"%q is not a time such as 2026-11-22T08:00:00Z"`
	Until time.Time `query:"until" wrong:"%q is not a time such as 2026-11-22T08:00:00Z"`
	Zone  string    `query:"zone"` // the clock of days and weeks, as report.ZoneOf has it; "": UTC
	User  string    `query:"user"` // of this account alone
	UID   *int      `query:"uid" in:"0-4294967295" wrong:"no account named %q on this machine"`
}

// ReportReply is what jobs took of the machine in a time, and what they made of it. Of what
// crosses its edges the part inside counts, and what still runs counts up to now.
type ReportReply struct {
	Schema string      `json:"schema"`
	Since  time.Time   `json:"since"`
	Until  time.Time   `json:"until"`
	By     []string    `json:"by"`
	Rows   []ReportRow `json:"rows"`
	Total  ReportRow   `json:"total"` // a job that is in several rows (tags, groups) counts once
}

// ReportRow is one row. What is absent is unknown.
type ReportRow struct {
	Keys  []string          `json:"keys,omitempty"`  // as By; of a group that has no quota "gid" and its number
	Jobs  int               `json:"jobs"`            // that held something in the time, or ended in it
	Ended map[job.State]int `json:"ended,omitempty"` // of these, by how they ended in it

	GPUHours       float64  `json:"gpu_hours"`                   // for which they held GPUs, times their parts
	GPUMemGiBHours *float64 `json:"gpu_mem_gib_hours,omitempty"` // GPU memory of their processes
	MemGiBHours    float64  `json:"mem_gib_hours"`               // host memory that they asked
	EnergyJoules   *float64 `json:"energy_joules,omitempty"`     // of the GPU-hours of which it is known
	EnergyHours    float64  `json:"energy_gpu_hours"`            // these GPU-hours

	Wait *job.Times `json:"wait,omitempty"` // for a start in the time
	Run  *job.Times `json:"run,omitempty"`  // of what ended in the time

	GPUBusyPeak  *int   `json:"gpu_busy_peak_percent,omitempty"` // the most that a GPU computed in a sample
	GPUPeakBytes *int64 `json:"gpu_peak_bytes,omitempty"`        // the most memory of one job on one GPU

	Efficiency Efficiency `json:"efficiency"`
}

// Failures are the jobs that neither completed nor were cancelled.
func (r *ReportRow) Failures() (n int) {
	for state, count := range r.Ended {
		if state != job.Completed && state != job.Cancelled {
			n += count
		}
	}
	return n
}

// UsageReply is where a user stands.
type UsageReply struct {
	Schema string `json:"schema"`
	User   string `json:"user"`
	UID    int    `json:"uid"`

	Today ReportRow `json:"today"` // since midnight by the clock of the question
	Week  ReportRow `json:"week"`  // since Monday
	Month ReportRow `json:"month"` // since its first day

	CountedHours    float64  `json:"counted_gpu_hours"`          // of use that counts for the order of the queue, by now
	HalfLife        job.Span `json:"half_life_seconds"`          // in which that halves; 0: it does not
	UsedPercent     *float64 `json:"used_percent,omitempty"`     // of the use of all who have jobs; absent: nobody used anything
	EntitledPercent *float64 `json:"entitled_percent,omitempty"` // what is due; absent where groups have shares, too

	Quotas []job.QuotaUse   `json:"quotas"`
	Limits []job.ClassLimit `json:"limits"`
}
