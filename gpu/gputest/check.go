package gputest

import (
	"reflect"
	"testing"

	"github.com/gpusched/gpusched/gpu"
)

// slack is the amount by which the parts of a GPU's memory may exceed the total, because the driver
// does not read all of them at the same moment.
const slack = 64 << 20

// Check reports all errors in a Snapshot of any machine.
func Check(t testing.TB, s gpu.Snapshot) {
	t.Helper()
	line, err := gpu.Encode(s)
	if err != nil {
		t.Errorf("cannot be encoded: %v", err)
		return
	}
	if back, err := gpu.Decode(line); err != nil || !reflect.DeepEqual(back, s) {
		t.Errorf("comes back as %+v, %v", back, err)
	}
	if s.TakenUnixNano <= 0 {
		t.Errorf("taken at %d", s.TakenUnixNano)
	}
	uuids, minors := map[string]bool{}, map[int]bool{}
	for i, d := range s.Devices {
		checkDevice(t, d)
		if i > 0 && d.Index <= s.Devices[i-1].Index {
			t.Errorf("GPU %d comes after GPU %d", d.Index, s.Devices[i-1].Index)
		}
		if d.UUID != "" && uuids[d.UUID] {
			t.Errorf("GPU %d: uuid %q twice", i, d.UUID)
		}
		if d.Minor >= 0 && minors[d.Minor] && d.Slice.IsZero() {
			t.Errorf("GPU %d: minor %d twice", i, d.Minor)
		}
		uuids[d.UUID], minors[d.Minor] = true, true
	}
}

func checkDevice(t testing.TB, d gpu.Device) {
	t.Helper()
	if d.Health != gpu.HealthOK {
		if d.HealthDetail == "" {
			t.Errorf("GPU %d is %s without a reason", d.Index, d.Health)
		}
		return
	}
	if d.UUID == "" || d.Minor < 0 || d.Name == "" || d.PCI == "" {
		t.Errorf("GPU %d is well but unknown: %+v", d.Index, d)
	}
	if d.MemFreeBytes+d.MemUsedBytes+d.MemReservedBytes > d.MemTotalBytes+slack {
		t.Errorf("GPU %d: free %d + used %d + reserved %d > total %d", d.Index, d.MemFreeBytes, d.MemUsedBytes,
			d.MemReservedBytes, d.MemTotalBytes)
	}
	for _, n := range []int64{int64(d.UtilGPUPercent), int64(d.TempC), d.PowerMilliW, int64(d.NUMANode)} {
		if n < -1 {
			t.Errorf("GPU %d has a number below -1: %+v", d.Index, d)
		}
	}
	if d.UtilGPUPercent > 100 {
		t.Errorf("GPU %d is busy %d%%", d.Index, d.UtilGPUPercent)
	}
	last := 0
	for _, p := range d.Processes {
		if p.PID <= last {
			t.Errorf("GPU %d: pid %d after pid %d", d.Index, p.PID, last)
		}
		if p.Dead && p.Unit != "" {
			t.Errorf("GPU %d: pid %d is gone and in unit %q", d.Index, p.PID, p.Unit)
		}
		last = p.PID
	}
}
