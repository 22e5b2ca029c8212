package nvml

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gpusched/gpusched/gpu"
)

// A list is one of the driver's process lists.
type list struct {
	kind  string
	infos []nvml.ProcessInfo
}

func (r *reader) processes(dev nvml.Device) {
	if r.has.overruns() {
		r.out.ProcessesUnknown = true
		r.out.HealthDetail = "the processes are not read: drivers 535.43 to 535.86 write past the buffer of the list; update the driver"
		return
	}
	lists := []list{
		{gpu.KindCompute, r.list(needCompute, "listing compute processes", dev.GetComputeRunningProcesses)},
		{gpu.KindGraphics, r.list(needGraphics, "listing graphics processes", dev.GetGraphicsRunningProcesses)},
		{gpu.KindMPS, r.list(needMPS, "listing MPS processes", dev.GetMPSComputeRunningProcesses)},
	}
	if !r.ok() {
		return
	}
	all := merge(lists)
	r.out.Processes = all[:min(len(all), gpu.MaxProcessesPerDevice)]
	r.out.ProcessesUnknown = r.out.ProcessesUnknown || len(all) > len(r.out.Processes)
	for i := range r.out.Processes {
		p := &r.out.Processes[i]
		o := gpu.OwnerBelow(r.procRoot, r.below, p.PID)
		p.UID, p.Comm, p.Unit = o.UID, o.Comm, o.Unit
		p.Dead, p.Start, p.Age = !o.Alive, o.Start, o.Age
	}
}

// list reads one of the driver's lists. If the driver does not report computing processes, the
// processes of the GPU are unknown. A missing list of other processes counts as empty. After any
// other error the GPU counts as not well, because nobody knows who uses it.
func (r *reader) list(n need, doing string, call func() ([]nvml.ProcessInfo, nvml.Return)) []nvml.ProcessInfo {
	infos, ret, asked := ask(r, n, doing, call)
	if !asked {
		r.out.ProcessesUnknown = r.out.ProcessesUnknown || n == needCompute
		return nil
	}
	switch ret {
	case nvml.SUCCESS:
		return infos
	case nvml.ERROR_NOT_SUPPORTED, nvml.ERROR_FUNCTION_NOT_FOUND, nvml.ERROR_NO_PERMISSION:
		r.out.ProcessesUnknown = r.out.ProcessesUnknown || n == needCompute || ret == nvml.ERROR_NO_PERMISSION
		return nil
	default:
		r.fail(gpu.HealthError, doing+": "+r.words(ret))
		return nil
	}
}

// merge returns one Process per pid, ordered by pid. Several lists report the same memory of a
// process, so the maximum counts. Within one list a pid appears once per MIG instance, and the
// values of all instances are added.
func merge(lists []list) []gpu.Process {
	byPID := make(map[int]gpu.Process)
	for _, l := range lists {
		for pid, used := range usedByPID(l.infos) {
			p, seen := byPID[pid]
			if !seen {
				p = gpu.Process{PID: pid, UsedBytes: -1, UID: -1}
			}
			p.Kind = strings.TrimPrefix(p.Kind+"+"+l.kind, "+")
			p.UsedBytes = max(p.UsedBytes, used)
			byPID[pid] = p
		}
	}
	return slices.SortedFunc(maps.Values(byPID), func(a, b gpu.Process) int { return a.PID - b.PID })
}

// usedByPID adds up one list. A value is -1 if the driver reports no memory for the pid.
func usedByPID(infos []nvml.ProcessInfo) map[int]int64 {
	used := make(map[int]int64)
	for _, i := range infos {
		pid, bytes := int(i.Pid), int64(-1)
		if pid <= 0 {
			continue
		}
		if i.UsedGpuMemory <= math.MaxInt64 {
			bytes = int64(i.UsedGpuMemory)
		}
		if before, seen := used[pid]; seen && before >= 0 && bytes >= 0 {
			bytes += before
		} else if seen {
			bytes = max(before, bytes)
		}
		used[pid] = bytes
	}
	return used
}
