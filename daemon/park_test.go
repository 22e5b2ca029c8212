package daemon

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/units"
	"github.com/gpusched/gpusched/units/unittest"
)

// Only a running unit that belongs to the job is parked. If the unit is gone, the job's end is
// observed elsewhere, and the log gets no line.
func TestParkLooksAtTheUnit(t *testing.T) {
	own := units.Properties(units.Spec{ID: 7, Attempt: 2, UID: 1001})
	for name, c := range map[string]struct {
		props  []units.Property // nil: no unit
		do     func(*unittest.Systemd)
		end    core.ParkEnd
		asked  string
		warned bool
	}{
		"running":      {own, nil, core.ParkBroken, "[false]", false},
		"frozen":       {own, func(s *unittest.Systemd) { _ = s.Freeze(t.Context(), units.Name(7), true) }, core.ParkBroken, "[true]", false},
		"no unit":      {nil, nil, core.ParkUnsure, "[]", false},
		"has ended":    {own, func(s *unittest.Systemd) { s.Exit(units.Name(7), 0) }, core.ParkUnsure, "[]", false},
		"another's":    {units.Properties(units.Spec{ID: 7, Attempt: 2, UID: 1002}), nil, core.ParkUnsure, "[]", true},
		"restarted":    {own, nil, core.ParkUnsure, "[]", false},
		"an old one":   {units.Properties(units.Spec{ID: 7, Attempt: 1, UID: 1001}), nil, core.ParkUnsure, "[]", false},
		"not readable": {own, func(s *unittest.Systemd) { s.FailNext(unittest.OpStatus, unittest.Fault{Err: fmt.Errorf("odd")}) }, core.ParkUnsure, "[]", true},
	} {
		for _, back := range []bool{false, true} {
			var log bytes.Buffer
			s := unittest.New(unittest.Options{})
			if c.props != nil {
				if _, err := s.Start(t.Context(), units.Name(7), c.props); err != nil {
					t.Fatal(err)
				}
			}
			if c.do != nil {
				c.do(s)
			}
			asked := []bool{}
			d := assemble(Options{
				Log: slog.New(slog.NewTextHandler(&log, nil)), Units: s, Origin: s.Origin,
				Park: func(_ context.Context, a core.Park, b, frozen bool) (core.ParkEnd, string, time.Duration) {
					if a.Job != 7 || b != back {
						t.Errorf("%s: asked for %+v, back %t", name, a, b)
					}
					asked = append(asked, frozen)
					return core.ParkBroken, "lost", time.Second
				},
			})
			want := core.Parked{Job: 7, Attempt: 2, End: c.end}
			if c.end == core.ParkBroken {
				want.Says, want.Took = "lost", time.Second
			}
			a := core.Park{Job: 7, Attempt: 2, Whose: core.Whose{UID: 1001, Attempt: 2, Invocation: fmt.Sprintf("%032x", 1)}}
			if name == "restarted" || name == "another's" || name == "an old one" {
				a.Whose.Invocation = "before"
			}
			if got := d.exec.park(t.Context(), a, back); got != want || fmt.Sprint(asked) != c.asked || log.Len() > 0 != c.warned {
				t.Errorf("%s, back %t: %+v, asked %v, logged %q", name, back, got, asked, log.String())
			}
		}
	}
}
