package systemd

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godbus/dbus/v5"

	"github.com/gpusched/gpusched/cgroup"
	"github.com/gpusched/gpusched/units"
)

// command is an element of ExecStart.
type command struct {
	Path       string
	Argv       []string
	Ignore     bool
	A, B, C, D uint64
	PID        uint32
	Code, Exit int32
}

func (b *fakeBus) exitedWell(sender string) {
	b.emit(sender, string(objectPath(job1)), propertyIface, "PropertiesChanged", unitIface, map[string]dbus.Variant{
		"ActiveState": dbus.MakeVariant(units.ActiveActive), "SubState": dbus.MakeVariant(units.SubExited),
		"InvocationID": dbus.MakeVariant([]byte{0xab, 0xcd, 15: 1}), "ActiveEnterTimestampMonotonic": dbus.MakeVariant(uint64(1)),
	}, []string{})
}

// startAndExit starts job 1 of user 1001 and emits signals that say that it has ended well.
func (b *fakeBus) startAndExit(t *testing.T, sender string, more ...units.Property) *Manager {
	m := b.manager()
	begun := make(chan error, 1)
	go func() {
		_, err := m.Start(t.Context(), job1, append([]units.Property{{Name: "User", Value: "1001"}}, more...))
		begun <- err
	}()
	synctest.Wait()
	b.jobRemoved(systemdName, job1, 1, jobDone)
	if err := <-begun; err != nil {
		t.Fatal(err)
	}
	b.exitedWell(sender)
	synctest.Wait()
	return m
}

// hasEnded answers a call that reads one property of an ended unit.
func hasEnded(args []any, commands []command) ([]any, *dbus.Error) {
	switch args[1] {
	case "ExecStart":
		return []any{dbus.MakeVariant(slices.Concat([]command{}, commands))}, nil
	case "DropInPaths":
		return []any{dbus.MakeVariant([]string{"/lib/systemd/system/gpujob-.service.d/10-gpusched.conf"})}, nil
	case "StatusText":
		return []any{dbus.MakeVariant("words")}, nil
	case "CPUUsageNSec":
		return []any{dbus.MakeVariant(uint64(5000))}, nil
	case "MemoryPeak":
		return []any{dbus.MakeVariant(uint64(4096))}, nil
	}
	return starter("Get", args)
}

// If systemd's signals say that a unit is active and exited, only the end of its command is read.
// If that read fails, and for any other unit, everything is read.
func TestStatusOfWhatEndedWell(t *testing.T) {
	hierarchy := cgroup.Empty(cgroup.Root, "/gpujobs.slice/none") // false: processes are unknown on this host
	well := command{A: 1, C: 2, Code: units.CLDExited, PID: 7}
	again := well
	again.Code = 0 // somebody has started it again since
	for _, c := range []struct {
		name     string
		sender   string
		commands []command
		peak     bool
		whole    bool
	}{
		{"ended", systemdName, []command{well}, true, false},
		{"ended, on an older systemd", systemdName, []command{well}, false, true}, // the first time
		{"began anew", systemdName, []command{again}, true, true},
		{"is not there any more", systemdName, nil, true, true},
		{"a stranger says so", strangeName, []command{well}, true, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newFakeBus(t, func(method string, args []any) ([]any, *dbus.Error) {
				if method != "Get" {
					return starter(method, args)
				}
				if args[1] == "MemoryPeak" && !c.peak {
					return nil, &dbus.Error{Name: errNoProperty}
				}
				return hasEnded(args, c.commands)
			})
			m := b.startAndExit(t, c.sender)
			before := b.countCalls("GetAll")
			s, err := m.Status(t.Context(), job1)
			if err != nil {
				t.Fatal(err)
			}
			if whole := b.countCalls("GetAll") > before; whole != c.whole {
				t.Errorf("%s: read whole: %t", c.name, whole)
			}
			if !c.peak {
				s, err = m.Status(t.Context(), job1)
				if n := b.countCalls("GetAll"); n != before+1 {
					t.Errorf("%s: read whole again", c.name)
				}
			} else if !c.whole && s.MemoryPeak != 4096 {
				t.Errorf("%s: %+v", c.name, s)
			}
			if c.whole && c.peak {
				return
			}
			phase, exit := units.Decode(s)
			if err != nil || phase != units.PhaseExited || exit.Code != 0 || s.InvocationID[:4] != "abcd" || s.StatusText != "words" ||
				s.CPUNSec != 5000 || s.Started != 1 || s.Ended != 2 || s.ControlGroup != "" || s.Spent != hierarchy || !s.WasActive || s.Age <= 0 {
				t.Errorf("%s: %+v, %v", c.name, s, err)
			}
		})
	}
}

// If the site has a drop-in, systemd is asked for what the drop-in may have changed: the commands
// of a stop, and the control group. A unit whose stop runs a command of ours is read completely.
func TestSpentWithADropIn(t *testing.T) {
	for _, c := range []struct {
		name  string
		drop  string
		props []units.Property
		stop  []command
		group string
		asks  int64 // questions for single properties
		spent bool
	}{
		{"without", "/usr/lib/systemd/system" + ourDropIn, nil, nil, "", 5, cgroup.Empty(cgroup.Root, "/gpujobs.slice/none")},
		{"of the site's", "/etc/systemd/system" + ourDropIn, nil, nil, "", 9, true},
		{"with a command", "/etc/systemd/system/service.d/a.conf", nil, []command{{Path: "/bin/true"}}, "", 9, false},
		{"with processes elsewhere", "/etc/systemd/system/service.d/a.conf", nil, nil, "/", 9, false},
		{"a command of ours", "/usr/lib/systemd/system" + ourDropIn, []units.Property{{Name: "ExecStopPost", Value: []units.ExecCommand{{Path: "/bin/true"}}}}, nil, "", 0, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			var asks atomic.Int64 // the bus answers these at once
			b := newFakeBus(t, func(method string, args []any) ([]any, *dbus.Error) {
				if method != "Get" {
					return starter(method, args)
				}
				asks.Add(1)
				switch args[1] {
				case "DropInPaths":
					if args[0] != unitIface {
						t.Errorf("DropInPaths is asked of %v", args[0])
					}
					return []any{dbus.MakeVariant([]string{c.drop})}, nil
				case "ExecStop":
					return []any{dbus.MakeVariant([]command{})}, nil
				case "ExecStopPost":
					return []any{dbus.MakeVariant(slices.Concat([]command{}, c.stop))}, nil
				case "ControlGroup":
					return []any{dbus.MakeVariant(c.group)}, nil
				}
				return hasEnded(args, []command{{A: 1, C: 2, Code: units.CLDExited, PID: 7}})
			})
			m := b.startAndExit(t, systemdName, c.props...)
			s, err := m.Status(t.Context(), job1)
			if err != nil || s.Spent != c.spent || asks.Load() != c.asks {
				t.Errorf("%s: spent %t, asked %d times, %v", c.name, s.Spent, asks.Load(), err)
			}
		})
	}
}

// A unit is not spent if a process may still be added to it. A queued reload, even one that nobody
// waits for any more, will run a process. If the site delegates the unit, its user may move a
// process into it.
func TestMoreMayComeIn(t *testing.T) {
	ended := func(method string, args []any) ([]any, *dbus.Error) {
		switch {
		case method == "ReloadUnit":
			return []any{jobPath(2)}, nil
		case method != "Get":
			return starter(method, args)
		case args[1] == "Delegate":
			return []any{dbus.MakeVariant(true)}, nil
		case args[1] == "DropInPaths":
			return []any{dbus.MakeVariant([]string{"/etc/systemd/system/gpujob-.service.d/50-site.conf"})}, nil
		case args[1] == "ExecStop" || args[1] == "ExecStopPost":
			return []any{dbus.MakeVariant([]command{})}, nil
		case args[1] == "ControlGroup":
			return []any{dbus.MakeVariant("")}, nil
		}
		return hasEnded(args, []command{{A: 1, C: 2, Code: units.CLDExited, PID: 7}})
	}
	t.Run("delegated", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newFakeBus(t, ended)
			m := b.startAndExit(t, systemdName)
			if s, err := m.Status(t.Context(), job1); err != nil || s.Spent {
				t.Errorf("%+v, %v", s, err)
			}
		})
	})
	t.Run("reloaded, and given up", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newFakeBus(t, ended)
			m := b.startAndExit(t, systemdName)
			ctx, stop := context.WithTimeout(t.Context(), time.Second)
			defer stop()
			if err := m.Reload(ctx, job1); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("the reload ended: %v", err)
			}
			before := b.countCalls("GetAll")
			if _, err := m.Status(t.Context(), job1); err != nil || b.countCalls("GetAll") == before {
				t.Errorf("the unit was not read whole, with the job that waits for it: %v", err)
			}
		})
	})
	t.Run("a reload waits, read whole", func(t *testing.T) {
		none := dbus.MakeVariant([][]any{})
		p := properties{
			"ActiveState": dbus.MakeVariant(units.ActiveActive), "SubState": dbus.MakeVariant(units.SubExited),
			"ExecStop": none, "ExecStopPost": none,
		}
		if !p.status(job1).Spent {
			t.Error("without it, it is not spent")
		}
		p["Job"] = dbus.MakeVariant([]any{uint32(7), dbus.ObjectPath("/")})
		if s := p.status(job1); s.Spent || !s.JobPending {
			t.Errorf("it is spent: %+v", s)
		}
	})
	t.Run("delegated, read whole", func(t *testing.T) {
		none := dbus.MakeVariant([][]any{})
		p := properties{
			"ActiveState": dbus.MakeVariant(units.ActiveActive), "SubState": dbus.MakeVariant(units.SubExited),
			"Delegate": dbus.MakeVariant(true), "ExecStop": none, "ExecStopPost": none,
		}
		if p.status(job1).Spent {
			t.Error("it is")
		}
	})
}

// When a unit that has ended well is stopped, systemd drops it by itself and sends a signal. The
// test also covers a signal before the end of the stop, a signal for all units during a reload, and
// a missing signal. In these cases the unit is looked up.
func TestStopOfWhatEndedWell(t *testing.T) {
	for _, c := range []struct {
		name          string
		before, after bool
		reloads       bool
		result        string
		asked         int
	}{
		{"said", false, true, false, jobDone, 0},
		{"said before", true, false, false, jobDone, 1},
		{"said of a stop that failed", false, true, false, jobFailed, 1},
		{"said at a reload", false, true, true, jobDone, 1},
		{"not said", false, false, false, jobDone, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			var b *fakeBus
			removed := func(is bool) {
				if is {
					b.emit(systemdName, managerPath, managerIface, "UnitRemoved", job1, objectPath(job1))
				}
			}
			b = newFakeBus(t, func(method string, args []any) ([]any, *dbus.Error) {
				switch method {
				case "StopUnit":
					time.AfterFunc(time.Millisecond, func() {
						removed(c.before)
						b.jobRemoved(systemdName, job1, 2, c.result)
						if c.reloads {
							b.emit(systemdName, managerPath, managerIface, "Reloading", true)
							defer b.emit(systemdName, managerPath, managerIface, "Reloading", false)
						}
						removed(c.after)
					})
					return []any{jobPath(2)}, nil
				case "ResetFailedUnit":
					return nil, noSuchUnit()
				}
				return starter(method, args)
			})
			m := b.startAndExit(t, systemdName)
			if err := m.Stop(t.Context(), job1); err != nil {
				t.Fatal(err)
			}
			if n := b.countCalls("ResetFailedUnit"); n != c.asked {
				t.Errorf("%s: asked %d times", c.name, n)
			}
		})
	}
}

// A unit that ended well according to its last signal, and is frozen, is thawed if it does not
// stop.
func TestStopOfWhatEndedWellAndIsFrozen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b *fakeBus
		thawed := false
		b = newFakeBus(t, func(method string, args []any) ([]any, *dbus.Error) {
			switch method {
			case "Get":
				return hasEnded(args, []command{{A: 1, C: 2, Code: units.CLDExited, PID: 7}})
			case "StopUnit":
				time.AfterFunc(time.Millisecond, func() { b.jobRemoved(systemdName, job1, 2, jobDone) })
				return []any{jobPath(2)}, nil
			case "ThawUnit":
				thawed = true
				return nil, nil
			case "ResetFailedUnit", "GetUnit":
				if thawed {
					return nil, noSuchUnit()
				}
				return []any{objectPath(job1)}, nil
			case "GetAll":
				state := map[bool]string{false: "frozen", true: "running"}[thawed]
				return loadedUnit(units.ActiveInactive, units.SubDead, map[string]any{"ControlGroup": "/x", "FreezerState": state}), nil
			}
			return starter(method, args)
		})
		m := b.startAndExit(t, systemdName)
		if err := m.Stop(t.Context(), job1); err != nil || b.countCalls("ThawUnit") != 1 {
			t.Errorf("thawed %d times: %v", b.countCalls("ThawUnit"), err)
		}
	})
}

// systemd refuses to stop a unit, or a slice, that it does not know to be thawed. Such a unit is
// thawed and stopped again, for a few seconds.
func TestStopOfWhatIsNotThawedYet(t *testing.T) {
	for _, c := range []struct {
		name    string
		refused int // stops that systemd refuses
		err     error
	}{{"thawed a moment ago", 1, nil}, {"after a while", 4, nil}, {"never", 100, units.ErrProcesses}} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var b *fakeBus
				stops := 0
				b = newFakeBus(t, func(method string, args []any) ([]any, *dbus.Error) {
					switch method {
					case "StopUnit":
						stops++
						result := map[bool]string{true: "frozen", false: jobDone}[stops <= c.refused]
						job := 10 + stops
						time.AfterFunc(time.Millisecond, func() { b.jobRemoved(systemdName, job1, job, result) })
						return []any{jobPath(job)}, nil
					case "ResetFailedUnit", "GetUnit":
						if stops > c.refused {
							return nil, noSuchUnit()
						}
						return []any{objectPath(job1)}, nil
					case "GetAll":
						return loadedUnit(units.ActiveActive, units.SubRunning, map[string]any{"ControlGroup": "/x", "FreezerState": "thawing"}), nil
					case "ThawUnit":
						return nil, errNoReply
					}
					return starter(method, args)
				})
				m := b.manager()
				err := m.Stop(t.Context(), job1)
				if !errors.Is(err, c.err) || c.err == nil && b.countCalls("ThawUnit") != c.refused {
					t.Errorf("thawed %d times: %v", b.countCalls("ThawUnit"), err)
				}
			})
		})
	}
}
