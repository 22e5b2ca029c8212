package systemd

import (
	"testing"

	"github.com/godbus/dbus/v5"

	"github.com/gpusched/gpusched/units"
)

// If a main process ends by itself, its unit leaves the state active later, if at all. A stop makes
// the unit leave that state earlier.
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

// systemd ends a unit that is not active yet if an ExecStartPost= program fails or takes too long.
// Each row is what systemd 252 reported. If the main process ended before the program failed, only
// the end of the main process counts.
func TestEndedForAProgramAfterTheStart(t *testing.T) {
	type program struct {
		ignored      bool
		at           uint64
		code, status int32
	}
	failed, hung := program{false, 100, units.CLDExited, 1}, program{false, 100, units.CLDKilled, 15}
	for name, c := range map[string]struct {
		result       string
		post         []program
		ended        uint64
		code, status int32
		want         bool
	}{
		"fails":                        {units.ResultExitCode, []program{failed}, 101, units.CLDKilled, 15, true},
		"the second fails":             {units.ResultExitCode, []program{{false, 90, units.CLDExited, 0}, failed}, 101, units.CLDKilled, 15, true},
		"fails, SIGTERM is answered":   {units.ResultExitCode, []program{failed}, 300, units.CLDExited, 5, true},
		"fails, SIGTERM is ignored":    {units.ResultExitCode, []program{failed}, 900, units.CLDKilled, 9, true},
		"hangs":                        {units.ResultTimeout, []program{hung}, 99, units.CLDKilled, 15, true},
		"hangs, SIGTERM is answered":   {units.ResultTimeout, []program{hung}, 300, units.CLDExited, 5, true},
		"fails after an exit":          {units.ResultExitCode, []program{failed}, 50, units.CLDExited, 7, false},
		"hangs after an exit":          {units.ResultTimeout, []program{hung}, 50, units.CLDExited, 0, false},
		"its failure is ignored":       {units.ResultSignal, []program{{true, 100, units.CLDExited, 1}}, 101, units.CLDKilled, 9, false},
		"does well":                    {units.ResultSignal, []program{{false, 100, units.CLDExited, 0}}, 101, units.CLDKilled, 9, false},
		"there is none":                {units.ResultExitCode, nil, 101, units.CLDExited, 1, false},
		"never ran, after a bad start": {units.ResultExitCode, []program{{}}, 101, units.CLDExited, 1, false},
	} {
		commands := [][]any{}
		for _, p := range c.post {
			commands = append(commands, []any{"/bin/x", []string{"x"}, p.ignored, p.at, p.at, p.at, p.at, uint32(9), p.code, p.status})
		}
		for _, active := range []uint64{0, 10} {
			p := properties{
				"ActiveState": dbus.MakeVariant(units.ActiveFailed), "Result": dbus.MakeVariant(c.result),
				"ActiveEnterTimestampMonotonic":  dbus.MakeVariant(active),
				"ExecMainExitTimestampMonotonic": dbus.MakeVariant(c.ended),
				"ExecMainCode":                   dbus.MakeVariant(c.code), "ExecMainStatus": dbus.MakeVariant(c.status),
				"ExecStartPost": dbus.MakeVariant(commands),
			}
			if got := p.status("gpujob-1.service").PostFailed; got != (c.want && active == 0) {
				t.Errorf("%s, active since %d: %t", name, active, got)
			}
		}
	}
}

// If the launcher's check fails, systemd reports how it failed. A failing program of the site is a
// different case.
func TestLauncherDiesBeforeTheMainProcess(t *testing.T) {
	for _, c := range []struct {
		flag         string
		code, status int32
		died         bool
	}{
		{"--check", units.CLDKilled, 31, true},
		{"--check", units.CLDDumped, 11, true},
		{"--check", units.CLDExited, 2, true},
		{"--check", units.CLDExited, 0, false},
		{"--check", 0, 0, false},
		{"/site", units.CLDExited, 1, false},
	} {
		p := properties{"ExecStartPre": dbus.MakeVariant([][]any{
			{"/launcher", []string{"/launcher", c.flag}, false, uint64(1), uint64(1), uint64(1), uint64(1), uint32(9), c.code, c.status},
		})}
		if s := p.status("gpujob-1.service"); (s.CheckCode != 0) != c.died || c.died && (s.CheckCode != c.code || s.CheckStatus != c.status) {
			t.Errorf("%+v: %d, %d", c, s.CheckCode, s.CheckStatus)
		}
	}
}
