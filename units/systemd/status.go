package systemd

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	sddbus "github.com/coreos/go-systemd/v22/dbus"
	"github.com/godbus/dbus/v5"
	"golang.org/x/sys/unix"

	"github.com/gpusched/gpusched/cgroup"
	"github.com/gpusched/gpusched/units"
)

// Status reads the state of the named unit. For an absent unit it returns a status with Load
// units.LoadNotFound, not an error.
func (m *Manager) Status(ctx context.Context, name string) (units.Status, error) {
	absent := units.Status{Name: name, Load: units.LoadNotFound, Active: units.ActiveInactive, Sub: units.SubDead}
	l, err := m.linkFor("status of", name)
	if err != nil {
		return absent, err
	}
	if _, seen := m.seen.Load(name); !seen {
		there, err := unitThere(ctx, l, name)
		if err != nil || !there {
			return absent, err
		}
	}
	if status, ok := m.statusExited(ctx, l, name); ok {
		return status, nil
	}
	status, err := readStatus(ctx, l, name)
	if err != nil {
		return absent, err
	}
	if status.Load == units.LoadNotFound {
		m.seen.Delete(name)
		return absent, nil
	}
	return status, nil
}

// unitThere reports whether systemd has the unit. It does not make systemd load the unit.
func unitThere(ctx context.Context, l *link, name string) (bool, error) {
	err := l.manager(ctx, "GetUnit", name).Err
	switch {
	case code(err) == errNoSuchUnit:
		return false, nil
	case err != nil:
		return false, wrap("status of unit", name, err)
	}
	return true, nil
}

// readStatus reads the properties of all the unit's interfaces at once, so that they are
// consistent.
func readStatus(ctx context.Context, l *link, name string) (units.Status, error) {
	p, err := l.allProperties(ctx, "status of unit", name)
	if err != nil {
		return units.Status{Name: name}, err
	}
	s := p.status(name)
	begin, end := get[uint64](p, "ExecMainStartTimestampMonotonic"), get[uint64](p, "ExecMainExitTimestampMonotonic")
	if s.MainCode == units.CLDExited && s.MainStatus != 0 && isJobSlice(get[string](p, "Slice")) {
		s.EngineEnded = l.endedBetween(ctx, dockerUnit, begin, end+uint64(noticeTime/time.Microsecond))
	}
	requires := get[[]string](p, "Requires")
	if at := slices.IndexFunc(requires, units.IsMPS); at >= 0 && s.MainCode != 0 && s.MainStatus != 0 && !s.Stopped {
		s.ServerEnded = l.endedBetween(ctx, requires[at], begin, end)
	}
	return s, nil
}

// statusBegun returns the status of a unit whose start has just ended. Nearly always a signal of
// systemd has already said that the unit runs, and no more needs to be known. Without such a signal
// the unit is read, which takes systemd longer than everything else that we ask of it.
func (m *Manager) statusBegun(ctx context.Context, l *link, name, result string, t *unitChange) (units.Status, error) {
	runs := t != nil && t.active == units.ActiveActive && t.sub == units.SubRunning
	if result == jobDone && runs && t.invocation != "" && t.entered != 0 {
		return units.Status{
			Name: name, Load: units.LoadLoaded, Active: t.active, Sub: t.sub, Result: units.ResultSuccess,
			InvocationID: t.invocation, WasActive: true, Age: age(t.entered),
			CPUNSec: units.Infinity, MemoryPeak: units.Infinity,
		}, nil
	}
	if status, ok := m.statusExited(ctx, l, name); ok {
		return status, nil
	}
	return readStatus(ctx, l, name)
}

// allProperties reads the properties of all of a unit's interfaces at once.
func (l *link) allProperties(ctx context.Context, what, name string) (properties, error) {
	call := l.call(ctx, objectPath(name), propertyIface+".GetAll", "")
	if call.Err != nil {
		return nil, wrap(what, name, call.Err)
	}
	if len(call.Body) == 1 { // call.Store would copy some 400 properties one by one
		if p, ok := call.Body[0].(map[string]dbus.Variant); ok {
			return p, nil
		}
	}
	return nil, fmt.Errorf("%s %q: %w: properties of another shape", what, name, units.ErrBus)
}

func objectPath(name string) dbus.ObjectPath {
	return dbus.ObjectPath(unitPath + "/" + sddbus.PathBusEscape(name))
}

// properties are the properties of one unit. A property that is missing or has another type counts
// as unknown.
type properties map[string]dbus.Variant

func (p properties) status(name string) units.Status {
	s := units.Status{
		Name:         name,
		Load:         get[string](p, "LoadState"),
		Active:       get[string](p, "ActiveState"),
		Sub:          get[string](p, "SubState"),
		Result:       get[string](p, "Result"),
		InvocationID: hex.EncodeToString(get[[]byte](p, "InvocationID")),
		ControlGroup: get[string](p, "ControlGroup"),
		MainPID:      get[uint32](p, "MainPID"),
		MainCode:     get[int32](p, "ExecMainCode"),
		MainStatus:   get[int32](p, "ExecMainStatus"),
		StatusText:   get[string](p, "StatusText"),
		StatusErrno:  get[int32](p, "StatusErrno"),
		WasActive:    get[uint64](p, "ActiveEnterTimestampMonotonic") != 0,
		Frozen:       strings.HasPrefix(get[string](p, "FreezerState"), "fr"), // frozen, freezing; also by a parent
		JobPending:   p.jobID() != 0,
		CPUNSec:      p.amount("CPUUsageNSec"),
		MemoryPeak:   p.amount("MemoryPeak"),
		Started:      get[uint64](p, "ExecMainStartTimestamp"),
		Ended:        get[uint64](p, "ExecMainExitTimestamp"),
		Age:          age(get[uint64](p, "ActiveEnterTimestampMonotonic")),
	}
	if s.Sub == units.SubRunning {
		s.MemoryMax, s.MemoryHigh = get[uint64](p, "MemoryMax"), get[uint64](p, "MemoryHigh")
	}
	ended := get[uint64](p, "ExecMainExitTimestampMonotonic")
	// Without a stop, a unit leaves the state active only after its main process has ended. A stop
	// makes the unit leave that state earlier.
	left := get[uint64](p, "ActiveExitTimestampMonotonic")
	s.EndAge, s.Stopped = age(ended), left != 0 && left < ended
	s.Spent, s.PostFailed = p.isSpent(&s), p.postFailed(&s, ended)
	s.CheckCode, s.CheckStatus = p.checkEnded()
	if slice := get[string](p, "Slice"); isJobSlice(slice) {
		ofSlice(&s, slice)
	}
	return s
}

// checkEnded returns how the launcher failed when systemd ran it before the main process
// (units.Spec.Check); 0 if it did not fail.
func (p properties) checkEnded() (code, status int32) {
	const arguments, ends, says, fields = 1, 8, 9, 10
	for _, c := range get[[][]any](p, "ExecStartPre") {
		if len(c) != fields {
			continue
		}
		argv, _ := c[arguments].([]string)
		code, _ = c[ends].(int32)
		if status, _ = c[says].(int32); units.IsCheck(argv) && status != 0 {
			return code, status
		}
	}
	return 0, 0
}

// postFailed reports whether systemd ended a unit because an ExecStartPost= program failed or took
// too long. If the main process ended before that, only the end of the main process counts.
func (p properties) postFailed(s *units.Status, endTime uint64) bool {
	const ignored, stopped, code, status, fields = 2, 6, 8, 9, 10
	if s.WasActive || s.Active != units.ActiveFailed || endTime == 0 {
		return false
	}
	late := s.Result == units.ResultTimeout && s.MainCode != units.CLDExited
	return slices.ContainsFunc(get[[][]any](p, "ExecStartPost"), func(c []any) bool {
		if len(c) != fields || c[ignored] == true {
			return false
		}
		at, _ := c[stopped].(uint64)
		well := c[code] == units.CLDExited && c[status] == int32(0)
		return at != 0 && !well && (at <= endTime || late)
	})
}

// isSpent reports whether only the result of an ended unit remains. A failed unit has already been
// stopped. A delegated unit that is still active is not spent, because its user may move a process
// into it.
func (p properties) isSpent(s *units.Status) bool {
	switch {
	case s.Active == units.ActiveFailed:
	case s.Active != units.ActiveActive || s.Sub != units.SubExited || get[bool](p, "Delegate") ||
		!isEmpty(get[[][]any](p, "ExecStop")) || !isEmpty(get[[][]any](p, "ExecStopPost")):
		return false
	}
	return !s.JobPending && (s.ControlGroup == "" || cgroup.Empty(cgroup.Root, s.ControlGroup))
}

// isEmpty reports whether a list of commands is known to be empty.
func isEmpty(commands [][]any) bool { return commands != nil && len(commands) == 0 }

// age returns the time since the given time of the monotonic clock, which is in microseconds.
func age(monotonic uint64) time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil || monotonic == 0 {
		return 0
	}
	return max(0, time.Duration(now.Nano())-time.Duration(monotonic)*time.Microsecond)
}

// get returns the zero value of T for a missing property.
func get[T any](p properties, name string) T {
	v, _ := p[name].Value().(T)
	return v
}

func (p properties) amount(name string) uint64 {
	if v, ok := p[name].Value().(uint64); ok {
		return v
	}
	return units.Infinity
}

// jobID returns the id of the job that systemd has queued for the unit, from a pair (id, path); 0:
// none.
func (p properties) jobID() uint32 {
	pair := get[[]any](p, "Job")
	if len(pair) == 0 {
		return 0
	}
	id, _ := pair[0].(uint32)
	return id
}
