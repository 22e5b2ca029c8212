package host

import (
	"github.com/gpusched/gpusched/cgroup"
	"github.com/gpusched/gpusched/daemon/job"
)

// Meter implements daemon.Meter: it reads what a control group has used so far.
func Meter(controlGroup string) (job.HostUse, bool) {
	s, err := cgroup.Read(cgroup.Root, controlGroup)
	if err != nil {
		return job.HostUse{}, false
	}
	return job.HostUse{PeakMemBytes: s.PeakOrNow(), CPUTime: job.Span(s.CPU)}, true
}

// MemUsed implements daemon.MemUsed.
func MemUsed(controlGroup string) int64 { return cgroup.Unreclaimable(cgroup.Root, controlGroup) }

// Processes lists the processes in a control group. It omits processes that can't be read.
func Processes(controlGroup string) []cgroup.Process {
	list, _ := cgroup.Processes(cgroup.Root, "/proc", controlGroup)
	return list
}
