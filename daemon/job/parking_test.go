package job

import (
	"testing"
	"time"
)

// A job is parked from the beginning of its suspension until it has its GPUs again. While the driver
// copies, it still holds them.
func TestEndOfParking(t *testing.T) {
	began := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	end := began.Add(time.Hour)
	for state, c := range map[ParkState]struct {
		holds    int
		parked   time.Duration
		returned bool
	}{
		NotParked: {1, time.Minute, false}, ParkTakes: {1, time.Minute, false},
		IsParked: {0, time.Hour + time.Minute, false}, ParkGives: {1, time.Hour + time.Minute, true},
	} {
		j := Job{Attempt: &Attempt{GPUs: make([]Allocation, 1)}, Life: Life{
			Suspension: Suspension{SuspendedAt: began, SuspendedBy: "alice"},
			Parking:    Parking{Park: state, ParkBytes: 1 << 30, ParkWants: true, ParkedTime: time.Minute},
		}}
		if n := len(j.HeldGPUs()); n != c.holds {
			t.Errorf("%s: it holds %d GPUs, want %d", state, n, c.holds)
		}
		j.EndParking(end)
		want := Parking{ParkedTime: c.parked}
		if c.returned {
			want.ReturnedAt = end
		}
		if j.ParkedTime != want.ParkedTime || !j.ReturnedAt.Equal(want.ReturnedAt) || j.Park != NotParked ||
			j.ParkBytes != 0 || j.ParkWants || j.IsSuspended() || j.SuspendedTime != time.Hour {
			t.Errorf("%s: it ended as %+v, want %+v", state, j.Parking, want)
		}
	}
}
