package job

import "time"

// Entitlement is where a user stands: what counts of use for the order of the queue, and what
// is left of each quota. What has no bound is 0 in Most.
type Entitlement struct {
	User string

	Used     time.Duration // GPU time that counts, which halves with each HalfLife
	HalfLife time.Duration // 0: it does not fade
	Everyone time.Duration // the same of all who have jobs that wait or run, and of the user
	Share    int           // the user's weight, and of all those together
	Shares   int
	Grouped  bool // groups have shares, too: Shares alone does not say what is due to whom

	Quotas []QuotaUse
	Waits  int // jobs that wait
	Limits []ClassLimit
}

// QuotaUse is what a user, or a group of the user's, has of what it may have.
type QuotaUse struct {
	Group string    `json:"group,omitempty"` // "": the user
	What  QuotaKind `json:"what"`
	Has   int64     `json:"has"`
	Most  int64     `json:"most,omitempty"`
}

// QuotaKind is what a quota bounds.
type QuotaKind string

// The kinds: thousandths of a GPU, jobs, bytes, CPUs and seconds of a GPU.
const (
	QuotaGPUs    QuotaKind = "gpu_milli"
	QuotaRunning QuotaKind = "running"
	QuotaMem     QuotaKind = "mem_bytes"
	QuotaCPUs    QuotaKind = "cpus"
	QuotaQueued  QuotaKind = "queued"
	QuotaUsage   QuotaKind = "gpu_seconds"
)

// ClassLimit is the longest time limit of a class; 0 is none.
type ClassLimit struct {
	Class Class `json:"class"`
	Most  Span  `json:"most_seconds,omitempty"`
}
