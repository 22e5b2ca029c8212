package host

import (
	"time"

	"github.com/gpusched/gpusched/cgroup"
)

// Meter reads what a control group has used so far, as daemon.Meter says.
func Meter(controlGroup string) (peakBytes int64, cpu time.Duration, ok bool) {
	s, err := cgroup.Read(cgroup.Root, controlGroup)
	if err != nil {
		return 0, 0, false
	}
	return s.PeakOrNow(), s.CPU, true
}

// Processes lists what runs in a control group; what can't be read is not there.
func Processes(controlGroup string) []cgroup.Process {
	list, _ := cgroup.Processes(cgroup.Root, "/proc", controlGroup)
	return list
}
