package api

import (
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

// ReportQuery says what a report is about.
type ReportQuery struct {
	// By says how rows are grouped: user, group, gpu, tag, tag=KEY, day, week, month, class or
	// name, or two of these, separated by a comma.
	By string `query:"by"`
	// Since and Until limit the period. A zero Since means everything on record,
	// and a zero Until means now.
	Since time.Time `query:"since" wrong:"%q is not a time such as 2026-11-22T08:00:00Z"`
	Until time.Time `query:"until" wrong:"%q is not a time such as 2026-11-22T08:00:00Z"`
	Zone  string    `query:"zone"` // time zone of days and weeks, in the form that report.ZoneOf reads; "": UTC
	User  string    `query:"user"` // only jobs of this account
	UID   *int      `query:"uid" in:"0-4294967295" wrong:"no account named %q on this machine"`
}

// ReportReply says how much of the machine jobs used in a period, and how well. If an attempt is
// partly in the period, only that part counts. An attempt that still runs counts until now.
type ReportReply struct {
	Schema string      `json:"schema"`
	Since  time.Time   `json:"since"`
	Until  time.Time   `json:"until"`
	By     []string    `json:"by"`
	Rows   []ReportRow `json:"rows"`
	Total  ReportRow   `json:"total"` // a job can count in several rows (tags, groups), but counts here once
}

// ReportRow is one row of a report. Absent values are unknown.
type ReportRow struct {
	Keys  []string          `json:"keys,omitempty"`  // one per part of By; a group without a quota is "gid" and its number
	Jobs  int               `json:"jobs"`            // jobs that had an allocation in the period or ended in it
	Ended map[job.State]int `json:"ended,omitempty"` // number of these jobs that ended in the period, by outcome

	GPUHours       float64  `json:"gpu_hours"`                   // each allocation's duration, times its parts of GPUs
	GPUMemGiBHours *float64 `json:"gpu_mem_gib_hours,omitempty"` // GPU memory that the jobs' processes used
	MemGiBHours    float64  `json:"mem_gib_hours"`               // host memory that the jobs requested
	EnergyJoules   *float64 `json:"energy_joules,omitempty"`     // energy, without the time in which it is unknown
	EnergyHours    float64  `json:"energy_gpu_hours"`            // GPU-hours whose energy is known

	Wait *job.Times `json:"wait,omitempty"` // waiting times of the jobs that started in the period
	Run  *job.Times `json:"run,omitempty"`  // run times of attempts that ended in the period

	GPUBusyPeak  *int   `json:"gpu_busy_peak_percent,omitempty"` // highest utilization of a GPU in a sample
	GPUPeakBytes *int64 `json:"gpu_peak_bytes,omitempty"`        // highest memory use of one job on one GPU

	Efficiency Efficiency `json:"efficiency"`
}

// Failures returns the number of jobs that neither completed nor were cancelled.
func (r *ReportRow) Failures() (n int) {
	for state, count := range r.Ended {
		if state != job.Completed && state != job.Cancelled {
			n += count
		}
	}
	return n
}

// UsageReply says what a user has used and may use.
type UsageReply struct {
	Schema string `json:"schema"`
	User   string `json:"user"`
	UID    int    `json:"uid"`

	Today ReportRow `json:"today"` // since midnight in the query's time zone
	Week  ReportRow `json:"week"`  // since Monday, at midnight
	Month ReportRow `json:"month"` // since the first of the month

	CountedHours    float64  `json:"counted_gpu_hours"`          // usage that counts for fair share, with decay
	HalfLife        job.Span `json:"half_life_seconds"`          // time in which this usage decays by half; 0: no decay
	UsedPercent     *float64 `json:"used_percent,omitempty"`     // percentage of all users' usage; absent: no usage
	EntitledPercent *float64 `json:"entitled_percent,omitempty"` // fair share; absent if groups have shares as well

	Quotas []job.QuotaUse   `json:"quotas"`
	Limits []job.ClassLimit `json:"limits"`

	Engines []contract.Engine `json:"engines"` // engines that may run a job's image, the preferred one first
}
