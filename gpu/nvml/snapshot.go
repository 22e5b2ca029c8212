package nvml

import (
	"errors"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gpusched/gpusched/gpu"
)

// Snapshot reads all GPUs, at once, and takes DeviceTimeout plus what
// initialising takes at most, unless the driver hangs as a whole.
func (l *Library) Snapshot(seq uint64) gpu.Snapshot { return l.read(seq, false) }

// Look is a Snapshot without the energy, which is the one answer that the driver
// has to fetch from the GPU: on an H100 it took 3 to 15 ms of a processor's time
// (driver 580), everything else together 0.8 ms.
func (l *Library) Look(seq uint64) gpu.Snapshot { return l.read(seq, true) }

func (l *Library) read(seq uint64, look bool) gpu.Snapshot {
	s := gpu.Snapshot{Seq: seq, Look: look, TakenUnixNano: l.opts.Now().UnixNano(), Devices: []gpu.Device{}}
	problem, err := l.ensure()
	if err == nil {
		err = l.readDevices(&s, look)
		if err != nil {
			problem = gpu.ProblemInitFailed
			l.needsRestart = true
			l.drop()
		}
	}
	if err != nil {
		s.Problem, s.Detail = problem, err.Error()
		s.Devices, s.Links = []gpu.Device{}, nil
		return s
	}
	s.Driver, s.NVMLVersion, s.CUDAVersion = l.driver, l.version, l.cuda
	l.renew(s.Devices)
	return s
}

func (l *Library) readDevices(s *gpu.Snapshot, look bool) error {
	n, ret := l.nv.DeviceGetCount()
	if ret != nvml.SUCCESS {
		return errors.New("counting GPUs: " + l.words(ret))
	}
	n = min(n, gpu.MaxDevices)
	l.resize(n)
	fresh := make([]bool, n)
	for i, slot := range l.slots {
		fresh[i] = slot.begin(l.reader(i, look), l.opts.Now())
	}
	expired := make(chan struct{})
	timer := time.AfterFunc(l.opts.DeviceTimeout, func() { close(expired) })
	defer timer.Stop()
	for i, slot := range l.slots {
		if fresh[i] {
			s.Devices = append(s.Devices, slot.collect(i, expired))
		} else {
			s.Devices = append(s.Devices, slot.hung(i))
		}
	}
	dropDuplicates(s.Devices)
	s.Links = l.readLinks(s.Devices, expired)
	return nil
}

// resize makes n slots. With another number of GPUs than before, an index says
// nothing about which GPU it was; one that still hangs keeps its slot anyway.
func (l *Library) resize(n int) {
	if n == len(l.slots) {
		return
	}
	slots := make([]*slot, n)
	for i := range slots {
		slots[i] = &slot{doubted: true} // until it was read whole
		if i < len(l.slots) && l.slots[i].stuck() {
			slots[i] = l.slots[i]
		}
	}
	l.slots = slots
}

// dropDuplicates takes a recalled identity back if a GPU that answers has it now.
func dropDuplicates(devices []gpu.Device) {
	answers := make(map[string]bool)
	for _, d := range devices {
		answers[d.UUID] = answers[d.UUID] || d.Health == gpu.HealthOK
	}
	for i, d := range devices {
		if d.Health != gpu.HealthOK && answers[d.UUID] {
			devices[i].UUID, devices[i].Minor = "", -1
		}
	}
}

// renew gives the initialisation up now and then while a GPU is not well: a GPU
// that was reset, or is back on the bus, is only seen by a new one.
func (l *Library) renew(devices []gpu.Device) {
	if l.stuck() || l.opts.Now().Sub(l.since) < l.opts.RenewEvery {
		return
	}
	for _, d := range devices {
		if d.Health != gpu.HealthOK {
			l.drop()
			return
		}
	}
}

// Count initialises and counts the GPUs: who has initialised sees none that come.
func (l *Library) Count() (int, error) {
	if _, err := l.ensure(); err != nil {
		return 0, err
	}
	defer l.drop()
	n, ret := l.nv.DeviceGetCount()
	if ret != nvml.SUCCESS {
		return 0, errors.New("counting GPUs: " + l.words(ret))
	}
	return n, nil
}

func (l *Library) stuck() bool {
	for _, s := range l.slots {
		if s.stuck() {
			return true
		}
	}
	return l.topology.busy()
}
