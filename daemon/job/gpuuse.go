package job

import (
	"math"
	"time"
)

// GPUUse is what a job used of one of its GPUs in an attempt, as far as samples
// saw it. What is counted in time is time between good samples: a driver that
// did not answer, or a clock that jumped, adds nothing.
type GPUUse struct {
	PeakBytes int64         `json:"peak_bytes,omitempty"` // the most memory of its processes at one time
	Seen      time.Duration `json:"seen,omitempty"`       // how long it was watched
	Busy      time.Duration `json:"busy,omitempty"`       // of Seen, how long the GPU computed, for whichever job on it

	PeakBusy int           `json:"peak_busy,omitempty"`  // the most that it computed in a sample, in percent: see PeakPercent
	MemSeen  time.Duration `json:"mem_seen,omitempty"`   // of how long the memory of its processes is known
	MemMiBMS int64         `json:"mem_mib_ms,omitempty"` // that memory over that time, in MiB times milliseconds
	Metered  time.Duration `json:"metered,omitempty"`    // of how long the energy is known
	MilliJ   int64         `json:"milli_j,omitempty"`    // its part of the energy of the GPU in that time, in millijoules

	OverSince time.Time     `json:"over_since,omitzero"`  // when it went over its budget; zero: it is within
	Over      time.Duration `json:"over,omitempty"`       // seen over it since then
	OverTold  time.Time     `json:"over_told,omitzero"`   // the last warning for it
	OverGrace time.Duration `json:"over_grace,omitempty"` // what that said of a stop: not before so long; negative: none
	Idle      time.Duration `json:"idle,omitempty"`       // up to now in a row, seen not to be used
	IdleTold  time.Duration `json:"idle_told,omitempty"`  // how much of Idle there was at the warning for it; 0: none yet
	IdleGrace time.Duration `json:"idle_grace,omitempty"` // what that said of a stop: not before so long; negative: none
}

// GPUNow is what a job uses of one of its GPUs: with what the last sample shows.
type GPUNow struct {
	GPUUse
	UsedBytes int64 // -1 unknown
	Computing bool  // it uses the GPU, or nobody can say that it does not
	Reckoned  int64 // of MilliJ, what goes by the power until the driver tells its count
}

// BusyPercent is the part of the time that the GPU computed; -1 unknown.
func (u GPUUse) BusyPercent() int {
	if u.Seen <= 0 {
		return -1
	}
	return int(math.Round(float64(u.Busy) * 100 / float64(u.Seen))) // Busy*100 is too much for a Duration after 2.9 years
}

// PeakPercent is the most that the GPU computed in a sample; -1 unknown. Records from
// before it was kept have none, but tell that the GPU computed.
func (u GPUUse) PeakPercent() int {
	if u.Seen <= 0 || u.PeakBusy == 0 && u.Busy > 0 {
		return -1
	}
	return u.PeakBusy
}

// MeanBytes is the memory of its processes over time; -1 unknown.
func (u GPUUse) MeanBytes() int64 {
	if ms := u.MemSeen.Milliseconds(); ms > 0 {
		return int64(float64(u.MemMiBMS) / float64(ms) * (1 << 20))
	}
	return -1
}

// Joules is what the job's part of the GPU took in the time in which that was known;
// -1 unknown.
func (u GPUUse) Joules() float64 {
	if u.Metered <= 0 {
		return -1
	}
	return float64(u.MilliJ) / 1000
}

// Budget is how much of the GPU's memory the job may use; 0 is all of it, which
// goes with the whole GPU.
func (g Allocation) Budget() int64 {
	if g.Milli == 0 {
		return 0
	}
	return g.PromiseBytes
}

// Breach is what a job did with a GPU for which it was stopped: it used more
// memory than its budget, or nothing of it for so long.
type Breach struct {
	GPU         int   `json:"gpu"` // physical index
	UsedBytes   int64 `json:"used_bytes,omitempty"`
	BudgetBytes int64 `json:"budget_bytes,omitempty"`
	Idle        Span  `json:"idle_seconds,omitempty"`
}

// The codes of warnings.
const (
	WarningMemory WarningCode = "gpu-memory" // more GPU memory than it was promised
	WarningIdle   WarningCode = "gpu-idle"   // a GPU that it does not use
)

// WarningCode is one kind of warning.
type WarningCode string

// Warning is what is not as it should be with a running job.
type Warning struct {
	Code     WarningCode `json:"code"`
	GPU      int         `json:"gpu"`
	Since    time.Time   `json:"since,omitzero"` // zero where only Idle says how long
	Idle     Span        `json:"seconds,omitempty"`
	Used     Size        `json:"-"`        // of the GPU's memory, and
	Promised Size        `json:"-"`        // what it was promised
	Sentence string      `json:"sentence"` // to follow "the job", which the server finds
}

// Warnings lists what a job was warned of that is so still.
func (v *JobView) Warnings() []Warning {
	var list []Warning
	for i, u := range v.Uses {
		g := &v.Attempt.GPUs[i]
		if !u.OverSince.IsZero() && u.UsedBytes > g.Budget() && g.Budget() > 0 {
			list = append(list, Warning{
				Code: WarningMemory, GPU: g.Index, Since: u.OverSince, Used: Size(u.UsedBytes), Promised: Size(g.Budget()),
			})
		}
		if u.IdleTold > 0 {
			list = append(list, Warning{Code: WarningIdle, GPU: g.Index, Idle: Span(u.Idle)})
		}
	}
	return list
}

// OverWarning tells a job's owner that it uses more than its budget. Patience
// is how long it may go on until it is stopped where others need the memory; a
// negative one: it is not stopped.
func OverWarning(gpu int, used, budget int64, patience time.Duration) Message {
	if patience < 0 {
		return Say("notice/over-budget", Size(used), gpu, Size(used-budget), Size(budget))
	}
	return Say("notice/over-budget-stop", Size(used), gpu, Size(used-budget), Size(budget), patience)
}

// IdleWarning tells a job's owner that it does not use a GPU. Patience is how
// long it may go on until it is stopped; a negative one: it is not stopped.
func IdleWarning(id ID, gpu int, idle, patience time.Duration) Message {
	idle = idle.Round(time.Second)
	if patience < 0 {
		return Say("notice/idle", gpu, idle, id)
	}
	return Say("notice/idle-stop", gpu, idle, id, patience)
}
