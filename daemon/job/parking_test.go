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
			Parking:    Parking{Park: state, ParkBytes: 1 << 30, ParkedFor: 7, ParkWants: true, ParkedTime: time.Minute},
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

// A job that its owner parked gets no new time slice, unlike one that the scheduler parked.
func TestReturnFromOwnParking(t *testing.T) {
	for _, c := range []struct {
		by   Parking
		anew bool
	}{{Parking{}, false}, {Parking{ParkedFor: 7}, true}, {Parking{ParkAwake: true}, true}} {
		j := Job{Life: Life{Parking: c.by}}
		j.Park = ParkGives
		if j.EndParking(time.Unix(1e9, 0)); j.ReturnedAt.IsZero() == c.anew {
			t.Errorf("%+v: it returned at %s", c.by, j.ReturnedAt)
		}
	}
}
