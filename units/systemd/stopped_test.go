package systemd

import (
	"testing"

	"github.com/godbus/dbus/v5"
)

// A unit whose main process ends by itself leaves the state active after that, if at all. A
// stop takes it out of that state first.
func TestStoppedBeforeItsEnd(t *testing.T) {
	for name, c := range map[string]struct {
		left, ended uint64
		want        bool
	}{
		"runs":                     {0, 0, false},
		"is being stopped":         {100, 0, false},
		"answered a stop":          {100, 200, true},
		"ended by itself":          {201, 200, false},
		"ended, and stays":         {0, 200, false},
		"ended, and stopped later": {900, 200, false},
	} {
		p := properties{
			"ActiveExitTimestampMonotonic":   dbus.MakeVariant(c.left),
			"ExecMainExitTimestampMonotonic": dbus.MakeVariant(c.ended),
		}
		if s := p.status("gpujob-1.service"); s.Stopped != c.want || (s.EndAge != 0) != (c.ended != 0) {
			t.Errorf("%s: stopped %t, ended %s ago", name, s.Stopped, s.EndAge)
		}
	}
}
