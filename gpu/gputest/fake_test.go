package gputest

import (
	"testing"

	"github.com/gpusched/gpusched/gpu"
)

func TestFakeConforms(t *testing.T) {
	RunScripted(t, func(t *testing.T) (Source, Machine) {
		f := NewFake(2)
		return f, f
	})
}

func TestFakeProcesses(t *testing.T) {
	f := NewFake(2)
	f.Put(1, gpu.Process{PID: 9, Kind: "compute", UsedBytes: 1 << 30, UID: 1001, Comm: "python", Unit: "gpujob-7.service"})
	f.Put(1, gpu.Process{PID: 8, Kind: "mps", UsedBytes: -1, UID: -1, Dead: true})
	f.Change(0, func(d *gpu.Device) { d.MIG = true })
	s := sample(t, f, 2)
	if !s.Devices[0].MIG || s.Devices[1].MIG {
		t.Error("the wrong GPU changed")
	}
	if p := s.Devices[1].Processes; len(p) != 2 || p[0].PID != 8 || p[1].Unit != "gpujob-7.service" || s.Devices[1].MemUsedBytes != 1<<30 {
		t.Errorf("processes %+v, used %d", p, s.Devices[1].MemUsedBytes)
	}
}
