package systemd

import (
	"testing"

	"github.com/gpusched/gpusched/units"
)

// If a start succeeded and nothing is left of the unit, nothing was executed, unless the unit was
// active meanwhile.
func TestSkipped(t *testing.T) {
	gone := units.Status{Load: units.LoadNotFound, Active: units.ActiveInactive}
	ran := units.Status{Load: units.LoadLoaded, Active: units.ActiveInactive, WasActive: true, MainCode: units.CLDExited}
	for name, c := range map[string]struct {
		result string
		s      units.Status
		t      *unitChange
		want   bool
	}{
		"a condition":                      {jobDone, gone, nil, true},
		"a condition that is a program":    {jobDone, gone, &unitChange{active: units.ActiveInactive, invocation: "1f"}, true},
		"ended and collected":              {jobDone, gone, &unitChange{active: units.ActiveInactive, invocation: "1f", entered: 7}, false},
		"ended and still there":            {jobDone, ran, nil, false},
		"runs":                             {jobDone, units.Status{Load: units.LoadLoaded, Active: units.ActiveActive}, nil, false},
		"failed, and nothing is known yet": {"failed", gone, nil, false},
	} {
		if got := wasSkipped(c.result, c.s, c.t); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
