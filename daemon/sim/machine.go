package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/gpu"
)

const bootID = "sim"

// A unit is a job's unit in the machine's systemd.
type unit struct {
	core.Unit
	attempt int
	started time.Duration
	refs    []job.Allocation
	milli   int
	uid     int
	memory  int64         // bytes that it uses on each of its GPUs
	turn    int           // how often it was parked
	begun   time.Duration // when its command last began to work
}

// A machine is systemd and the GPUs. It keeps its own account of the GPUs in use.
type machine struct {
	gpus    []gpu.Device
	share   []int // milli-GPUs in use, by index
	units   map[job.ID]*unit
	invoked int
	milli   int // sum of share over all GPUs
}

func newMachine(gpus int, memBytes int64) *machine {
	m := &machine{share: make([]int, gpus), units: map[job.ID]*unit{}}
	for i := range gpus {
		m.gpus = append(m.gpus, gpu.Device{
			Index: i, Minor: i, UUID: fmt.Sprintf("GPU-%d", i), Name: "NVIDIA A100-SXM4-80GB", NUMANode: -1,
			Health: gpu.HealthOK, MemTotalBytes: uint64(memBytes), MemFreeBytes: uint64(memBytes),
		})
	}
	return m
}

// start starts a job's unit and puts its processes on its GPUs. It refuses a start that breaks
// invariant 1.
func (m *machine) start(j *job.Job, memory int64, now time.Duration) (*unit, error) {
	if m.units[j.ID] != nil {
		return nil, fmt.Errorf("job %d is started while its unit exists", j.ID)
	}
	u := &unit{
		Unit:    core.Unit{Job: j.ID, Phase: core.Active, Invocation: fmt.Sprintf("inv%d", m.invoked)},
		attempt: j.Attempt.Number, refs: j.Attempt.GPUs, uid: j.Owner.UID, memory: memory,
	}
	for i, r := range u.refs {
		if r.Index < 0 || r.Index >= len(m.gpus) || slices.ContainsFunc(u.refs[:i], func(o job.Allocation) bool {
			return o.Index == r.Index
		}) {
			return nil, fmt.Errorf("job %d gets GPUs %v", j.ID, j.GPUIndexes())
		}
		u.milli += r.Share()
	}
	if u.milli != j.Request.GPUMilli {
		return nil, fmt.Errorf("job %d asks %d milli-GPUs and gets %d", j.ID, j.Request.GPUMilli, u.milli)
	}
	m.invoked++
	m.units[j.ID] = u
	return u, m.enter(u, now)
}

// enter puts a unit's processes on its GPUs.
func (m *machine) enter(u *unit, now time.Duration) error {
	u.started, u.begun = now, now
	m.milli += u.milli
	for _, r := range u.refs {
		if err := m.occupy(u, r); err != nil {
			return err
		}
	}
	return nil
}

func pid(id job.ID) int { return 1000 + int(id) }

func (m *machine) occupy(u *unit, r job.Allocation) error {
	d, mem := &m.gpus[r.Index], uint64(u.memory)
	if m.share[r.Index] += r.Share(); m.share[r.Index] > 1000 || d.MemFreeBytes < mem {
		return fmt.Errorf("job %d is too much for GPU %d: %d milli-GPUs in use, %d bytes free", u.Job, r.Index,
			m.share[r.Index], d.MemFreeBytes)
	}
	d.MemUsedBytes, d.MemFreeBytes = d.MemUsedBytes+mem, d.MemFreeBytes-mem
	d.Processes = append(slices.Clip(d.Processes), gpu.Process{
		PID: pid(u.Job), Start: 1, Kind: gpu.KindCompute, UsedBytes: int64(mem), UID: u.uid, Unit: u.Job.Unit(),
	})
	return nil
}

// exit ends the unit's command. Its processes leave the GPUs.
func (m *machine) exit(u *unit) {
	if u.Phase == core.Exited {
		return
	}
	u.Phase = core.Exited
	m.leave(u)
}

// leave takes a unit's processes off its GPUs.
func (m *machine) leave(u *unit) {
	m.milli -= u.milli
	for _, r := range u.refs {
		d := &m.gpus[r.Index]
		m.share[r.Index] -= r.Share()
		d.Processes = slices.DeleteFunc(slices.Clone(d.Processes), func(p gpu.Process) bool {
			if p.PID != pid(u.Job) {
				return false
			}
			d.MemUsedBytes, d.MemFreeBytes = d.MemUsedBytes-uint64(p.UsedBytes), d.MemFreeBytes+uint64(p.UsedBytes)
			return true
		})
	}
}

func (m *machine) status(id job.ID) core.Unit {
	if u := m.units[id]; u != nil {
		return u.Unit
	}
	return core.Unit{Job: id}
}

func (m *machine) sample(number uint64) core.Sampled {
	ev := core.Sampled{Number: number, Jobs: make(map[int]job.ID, len(m.units)),
		Snap: gpu.Snapshot{Driver: "580", Devices: slices.Clone(m.gpus)}}
	for id := range m.units {
		ev.Jobs[pid(id)] = id
	}
	return ev
}
