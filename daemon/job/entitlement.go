package job

import "time"

// Entitlement says what a user has used: the GPU time that counts for the order of the queue, and
// the use of each quota. If Most is 0, there is no limit.
type Entitlement struct {
	User string

	Used     time.Duration // GPU time that counts; it is halved after each HalfLife
	HalfLife time.Duration // 0: Used does not decay
	Everyone time.Duration // the sum of Used over this user and all users with waiting or running jobs
	Share    int           // the user's weight; Shares is the sum of weights over the users in Everyone
	Shares   int
	Grouped  bool // groups have shares, too, so Shares alone does not show what each user is due

	Quotas []QuotaUse
	Waits  int // number of waiting jobs
	Limits []ClassLimit
}

// QuotaUse is the part of one quota that a user, or one of the user's groups, uses.
type QuotaUse struct {
	Group string    `json:"group,omitempty"` // "": the user's own quota
	What  QuotaKind `json:"what"`
	Has   int64     `json:"has"`
	Most  int64     `json:"most,omitempty"`
}

// QuotaKind is what a quota bounds.
type QuotaKind string

// The kinds. Their units are thousandths of a GPU, jobs, bytes, CPUs, jobs and GPU-seconds.
const (
	QuotaGPUs    QuotaKind = "gpu_milli"
	QuotaRunning QuotaKind = "running"
	QuotaMem     QuotaKind = "mem_bytes"
	QuotaCPUs    QuotaKind = "cpus"
	QuotaQueued  QuotaKind = "queued"
	QuotaUsage   QuotaKind = "gpu_seconds"
)

// ClassLimit is the longest time limit of a class; 0 means no limit.
type ClassLimit struct {
	Class Class `json:"class"`
	Most  Span  `json:"most_seconds,omitempty"`
}
