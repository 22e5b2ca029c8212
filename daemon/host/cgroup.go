package host

import (
	"github.com/gpusched/gpusched/cgroup"
	"github.com/gpusched/gpusched/daemon/job"
)

// Meter reads what a control group has used so far, as daemon.Meter says.
func Meter(controlGroup string) (job.HostUse, bool) {
	s, err := cgroup.Read(cgroup.Root, controlGroup)
	if err != nil {
		return job.HostUse{}, false
	}
	return job.HostUse{PeakMemBytes: s.PeakOrNow(), CPUTime: job.Span(s.CPU)}, true
}

// Processes lists what runs in a control group; what can't be read is not there.
func Processes(controlGroup string) []cgroup.Process {
	list, _ := cgroup.Processes(cgroup.Root, "/proc", controlGroup)
	return list
}
