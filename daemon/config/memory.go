package config

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gpusched/gpusched/daemon/job"
)

// MemKind says how to compute the host memory of a job that requests none.
type MemKind string

// The kinds of DefaultMem.
const (
	MemAuto  MemKind = "auto"  // depends on the machine's size, see DefaultMem.For
	MemNone  MemKind = "none"  // no limit
	MemFixed MemKind = "fixed" // DefaultMem.Bytes
)

// DefaultMem is the host memory of a job that requests none.
type DefaultMem struct {
	Kind  MemKind
	Bytes int64 // only used for MemFixed
}

// Limits of MemAuto for a job without a GPU.
const (
	autoMinBytes = 512 << 20
	autoMaxBytes = 8 << 30
)

// For returns the host memory in bytes of a job with gpuMilli thousandths of a GPU; 0 means no
// limit. The arguments ramBytes and gpus are the machine's memory and its number of GPUs. One user
// may have userBytes of memory, or all memory if userBytes is 0. For MemAuto, the result is 75 % of
// the memory, or userBytes if that is less, divided by the number of GPUs, times the job's GPUs. A
// job without GPUs gets a 32nd of the memory, at least 512 MiB and at most 8 GiB, so that jobs on
// all GPUs leave room for some jobs without GPUs. For never returns more than the machine has.
func (m DefaultMem) For(gpuMilli int, ramBytes, userBytes int64, gpus int) int64 {
	switch m.Kind {
	case MemNone:
		return 0
	case MemFixed:
		return m.Bytes
	}
	if gpuMilli <= 0 || gpus <= 0 {
		return min(max(ramBytes/32, autoMinBytes), autoMaxBytes, ramBytes)
	}
	all := ramBytes / 4 * 3
	if userBytes > 0 {
		all = min(all, userBytes)
	}
	perGPU := all / int64(gpus)
	return min(perGPU/job.WholeGPU*int64(gpuMilli), ramBytes)
}

// String returns the value as it is written in a file.
func (m DefaultMem) String() string {
	if m.Kind == MemFixed {
		return spellSize(m.Bytes)
	}
	return string(m.Kind)
}

func parseDefaultMem(s string) (DefaultMem, error) {
	switch MemKind(s) {
	case MemAuto, MemNone:
		return DefaultMem{Kind: MemKind(s)}, nil
	}
	n, err := job.ParseSize(s)
	if err != nil {
		return DefaultMem{}, fmt.Errorf("%w, or auto or none", err)
	}
	return DefaultMem{Kind: MemFixed, Bytes: n}, nil
}

// Share is a percentage of something, or a number of bytes.
type Share struct {
	Percent int   // 0 to 90, used if Bytes is 0
	Bytes   int64 // used if above 0
}

// maxSharePercent is the largest percentage, so that something is left for jobs.
const maxSharePercent = 90

// Of returns the share of a total in bytes, never more than the total.
func (s Share) Of(total int64) int64 {
	if s.Bytes > 0 {
		return min(s.Bytes, total)
	}
	return total / 100 * int64(s.Percent)
}

// String returns the share as it is written in a file.
func (s Share) String() string {
	if s.Bytes > 0 {
		return spellSize(s.Bytes)
	}
	return strconv.Itoa(s.Percent) + "%"
}

func parseShare(s string) (Share, error) {
	if digits, ok := strings.CutSuffix(s, "%"); ok {
		n, err := strconv.ParseUint(digits, 10, 8)
		if err != nil || n > maxSharePercent {
			return Share{}, fmt.Errorf("%q is not a percentage from 0%% to %d%%", s, maxSharePercent)
		}
		return Share{Percent: int(n)}, nil
	}
	n, err := job.ParseSize(s)
	if err != nil {
		return Share{}, fmt.Errorf("%w, or a percentage such as 5%%", err)
	}
	return Share{Bytes: n}, nil
}
