package job

import "time"

// Entitlement is a user's standing: the GPU time that counts for the order of the queue, and the
// use of each quota. A Most of 0 means no limit.
type Entitlement struct {
	User string

	Used     time.Duration // GPU time that counts; it halves with each HalfLife
	HalfLife time.Duration // 0: it does not decay
	Everyone time.Duration // the sum over all users with waiting or running jobs, and this user
	Share    int           // the user's weight; Shares is the sum over the same users
	Shares   int
	Grouped  bool // groups have shares, too: Shares alone does not tell what each user is due

	Quotas []QuotaUse
	Waits  int // waiting jobs
	Limits []ClassLimit
}

// QuotaUse is the use of one quota, by a user or by one of the user's groups.
type QuotaUse struct {
	Group string    `json:"group,omitempty"` // "": the user's own
	What  QuotaKind `json:"what"`
	Has   int64     `json:"has"`
	Most  int64     `json:"most,omitempty"`
}

// QuotaKind is what a quota bounds.
type QuotaKind string

// The kinds, in thousandths of a GPU, jobs, bytes, CPUs and GPU-seconds.
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
