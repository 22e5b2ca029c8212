package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// leastIdle is the shortest idle time that is shown.
const leastIdle = job.Span(time.Minute)

// UseLine describes how a job uses a GPU. If withNumber is set, the line begins with the GPU's
// number.
func UseLine(g api.Allocation, withNumber bool) string {
	var parts Phrases
	parts.Add(g.UsedBytes > 0, "%s now", job.FormatSize(g.UsedBytes))
	parts.Add(g.UsedBytes < 0, "use at present unknown: the driver does not say")
	parts.Add(g.PeakBytes > 0, "%s at its peak", job.FormatSize(g.PeakBytes))
	busy := job.GPUUse{Seen: g.Seen.Duration(), Busy: g.Busy.Duration()}.BusyPercent()
	parts.Add(busy >= 0, "busy %d %% of the time", busy)
	parts.Add(g.Idle >= leastIdle, "not used for %s", g.Idle)
	if len(parts) == 0 {
		return ""
	}
	text := strings.Join(parts, ", ")
	if withNumber {
		text = fmt.Sprintf("GPU %d %s", g.Index, text)
	}
	return text
}

// peakOf adds up the peak memory on all GPUs of a job.
func peakOf(list []api.Allocation) (sum int64) {
	for _, g := range list {
		sum += g.PeakBytes
	}
	return sum
}

// gpuUsed adds up the memory that a job uses on its GPUs. It returns -1 if the driver does not
// report the memory on every GPU.
func gpuUsed(list []api.Allocation) (sum int64) {
	for _, g := range list {
		if g.UsedBytes < 0 {
			return -1
		}
		sum += g.UsedBytes
	}
	return sum
}

func gpuUsedOf(j api.Job) string {
	if n := gpuUsed(j.GPUs); n < 0 {
		return "?"
	}
	return sizeOrNothing(gpuUsed(j.GPUs))
}

// sizeOrNothing formats a size. It returns "" for 0, so that a column of zeros is left out.
func sizeOrNothing(n int64) string {
	if n <= 0 {
		return ""
	}
	return job.FormatSize(n)
}

func RawSize(n int64) string {
	if n <= 0 {
		return ""
	}
	return Number(n)
}
