package job

import (
	"math"
	"time"
)

// GPUUse is a job's use of one of its GPUs in an attempt, as the samples show it. Durations count
// only time between good samples: while the driver did not answer, or when a clock jumped, nothing
// is added.
type GPUUse struct {
	PeakBytes int64         `json:"peak_bytes,omitempty"` // the most memory that its processes used at one time
	Seen      time.Duration `json:"seen,omitempty"`       // how long the use was observed
	Busy      time.Duration `json:"busy,omitempty"`       // the part of Seen in which the GPU computed, for any job

	PeakBusy int           `json:"peak_busy,omitempty"`  // the highest utilization in a sample, in percent
	MemSeen  time.Duration `json:"mem_seen,omitempty"`   // the time for which the memory of its processes is known
	MemMiBMS int64         `json:"mem_mib_ms,omitempty"` // that memory summed over that time, in MiB times milliseconds
	Metered  time.Duration `json:"metered,omitempty"`    // the time for which the energy is known
	MilliJ   int64         `json:"milli_j,omitempty"`    // its share of the GPU's energy in that time, in millijoules

	OverSince  time.Time     `json:"over_since,omitzero"`  // since when the job exceeds its budget; zero: it does not
	Over       time.Duration `json:"over,omitempty"`       // observed time over budget since then
	OverWarned time.Time     `json:"over_told,omitzero"`   // time of the last warning about the excess
	OverGrace  time.Duration `json:"over_grace,omitempty"` // time to a stop, as the warning says; negative: no stop
	Idle       time.Duration `json:"idle,omitempty"`       // unbroken time for which the job has not used the GPU
	IdleWarned time.Duration `json:"idle_told,omitempty"`  // value of Idle at the warning; 0: no warning yet
	IdleGrace  time.Duration `json:"idle_grace,omitempty"` // time to a stop, as the warning says; negative: no stop
}

// GPUNow is a job's use of one of its GPUs, including values of the last sample.
type GPUNow struct {
	GPUUse
	UsedBytes int64 // -1: unknown
	Computing bool  // the job uses the GPU, or that is unknown
	Reckoned  int64 // the part of MilliJ that is only estimated from the power so far
}

// BusyPercent returns the percentage of the time in which the GPU computed; -1: unknown.
func (u GPUUse) BusyPercent() int {
	if u.Seen <= 0 {
		return -1
	}
	return int(math.Round(float64(u.Busy) * 100 / float64(u.Seen))) // as a Duration, Busy*100 overflows after 2.9 years
}

// PeakPercent returns the highest utilization in a sample; -1: unknown. It is unknown in an old
// record that lacks the value although the GPU computed.
func (u GPUUse) PeakPercent() int {
	if u.Seen <= 0 || u.PeakBusy == 0 && u.Busy > 0 {
		return -1
	}
	return u.PeakBusy
}

// MeanBytes returns the mean memory of the job's processes; -1: unknown.
func (u GPUUse) MeanBytes() int64 {
	if ms := u.MemSeen.Milliseconds(); ms > 0 {
		return int64(float64(u.MemMiBMS) / float64(ms) * (1 << 20))
	}
	return -1
}

// Joules returns the job's share of the GPU's energy, for the time for which the energy is known;
// -1: unknown.
func (u GPUUse) Joules() float64 {
	if u.Metered <= 0 {
		return -1
	}
	return float64(u.MilliJ) / 1000
}

// Budget returns the GPU memory that the job may use. It returns 0, which means all memory, if the
// job has the whole GPU.
func (g Allocation) Budget() int64 {
	if g.Milli == 0 {
		return 0
	}
	return g.PromiseBytes
}

// Breach is the reason why a job was stopped for its use of a GPU: it used more memory than its
// budget, or it was idle for too long.
type Breach struct {
	GPU         int   `json:"gpu"` // physical index of the GPU
	UsedBytes   int64 `json:"used_bytes,omitempty"`
	BudgetBytes int64 `json:"budget_bytes,omitempty"`
	Idle        Span  `json:"idle_seconds,omitempty"`
}

// The kinds of warnings.
const (
	WarningMemory WarningCode = "gpu-memory" // the job uses more GPU memory than it was promised
	WarningIdle   WarningCode = "gpu-idle"   // the job does not use a GPU
)

// WarningCode is the kind of a warning.
type WarningCode string

// Warning is a problem of a running job about which the job's owner was warned.
type Warning struct {
	Code     WarningCode `json:"code"`
	GPU      int         `json:"gpu"`
	Since    time.Time   `json:"since,omitzero"` // zero: see Idle
	Idle     Span        `json:"seconds,omitempty"`
	Used     Size        `json:"-"`        // GPU memory
	Promised Size        `json:"-"`        // GPU memory
	Sentence string      `json:"sentence"` // begins after the words "the job"; the server sets it
}

// Warnings lists the warnings about a job that are still true.
func (v *JobView) Warnings() []Warning {
	var list []Warning
	for i, u := range v.Uses {
		g := &v.Attempt.GPUs[i]
		if !u.OverSince.IsZero() && u.UsedBytes > g.Budget() && g.Budget() > 0 {
			list = append(list, Warning{
				Code: WarningMemory, GPU: g.Index, Since: u.OverSince, Used: Size(u.UsedBytes), Promised: Size(g.Budget()),
			})
		}
		if u.IdleWarned > 0 {
			list = append(list, Warning{Code: WarningIdle, GPU: g.Index, Idle: Span(u.Idle)})
		}
	}
	return list
}

// OverWarning tells a job's owner that the job exceeds its budget. The argument patience is the
// time until the job may be stopped if others need the memory; negative: it is not stopped.
func OverWarning(gpu int, used, budget int64, patience time.Duration) Message {
	if patience < 0 {
		return Say("notice/over-budget", Size(used), gpu, Size(used-budget), Size(budget))
	}
	return Say("notice/over-budget-stop", Size(used), gpu, Size(used-budget), Size(budget), patience)
}

// IdleWarning tells a job's owner that the job does not use a GPU. The argument patience is the
// time until the job is stopped, or parked if the site parks idle jobs; negative: neither.
func IdleWarning(id ID, gpu int, idle, patience time.Duration, parks bool) Message {
	idle = idle.Round(time.Second)
	switch {
	case patience < 0:
		return Say("notice/idle", gpu, idle, id)
	case parks:
		return Say("notice/idle-park", gpu, idle, id, patience)
	}
	return Say("notice/idle-stop", gpu, idle, id, patience)
}
