package systemd

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/godbus/dbus/v5"

	"github.com/gpusched/gpusched/cgroup"
	"github.com/gpusched/gpusched/units"
)

// Nearly every unit that is read has just ended well: it is active and exited. The unit's signals
// say so, and in which invocation. Then only a few more properties are needed. For all of a unit's
// properties, some 400, systemd takes ten times as long as for one.

// noteExited records a signal that says that a unit has ended well.
func (m *Manager) noteExited(name string, t unitChange) {
	if t.active == units.ActiveActive && t.sub == units.SubExited && t.invocation != "" && t.entered != 0 {
		m.exited.Store(name, t)
	} else {
		m.exited.Delete(name)
	}
}

// groupOf returns the control group of a unit with these properties; "" if the group is not known,
// or if the unit's stop runs a command.
func (m *Manager) groupOf(name string, props []units.Property) string {
	if m.user {
		return "" // the unit is below the control group of the user's systemd, which is not read here
	}
	if slices.ContainsFunc(props, func(p units.Property) bool { return strings.HasPrefix(p.Name, "ExecStop") }) {
		return ""
	}
	if slice, _, _ := units.Split(props); slice != "" {
		return "" // the status needs what the whole slice has used
	}
	for _, p := range props {
		if text, is := p.Value.(string); is && p.Name == "User" {
			if uid, err := strconv.Atoi(text); err == nil {
				return units.Scope{}.ControlGroup(uid, name)
			}
		}
	}
	return ""
}

// statusExited returns the status of a unit that has ended well according to its last signal. It
// returns false if there is no such signal or something could not be read. The unit must then be
// read completely.
func (m *Manager) statusExited(ctx context.Context, l *link, name string) (units.Status, bool) {
	last, _ := m.exited.Load(name)
	made, _ := m.groups.Load(name)
	if last == nil || made == nil || made == "" {
		return units.Status{}, false
	}
	t, group := last.(unitChange), made.(string)
	names := []string{"ExecStart", "DropInPaths", "StatusText", "CPUUsageNSec", "MemoryPeak"}
	if m.peakless.Load() {
		names = names[:len(names)-1]
	}
	p, err := l.readConcurrently(ctx, objectPath(name), names)
	if code(err) == errNoProperty {
		m.peakless.Store(true) // every systemd has the other properties
	}
	if err != nil {
		return units.Status{}, false
	}
	s := units.Status{
		Name: name, Load: units.LoadLoaded, Active: t.active, Sub: t.sub, Result: units.ResultSuccess,
		InvocationID: t.invocation, WasActive: true, Age: age(t.entered),
		StatusText: get[string](p, "StatusText"), CPUNSec: p.amount("CPUUsageNSec"), MemoryPeak: p.amount("MemoryPeak"),
	}
	if _, err := os.Stat(filepath.Join(cgroup.Root, group)); err == nil {
		s.ControlGroup = group // otherwise the group vanished with its last process
	}
	if !execStatus(p, &s) {
		return s, false
	}
	s.Spent, err = l.isSpent(ctx, p, &s, group)
	return s, err == nil
}

// ourDropIn is the only drop-in of the package for the units of jobs.
const ourDropIn = "/gpujob-.service.d/10-gpusched.conf"

// isSpent is properties.isSpent for a unit whose properties were not all read. If the site has no
// drop-in, the properties at the unit's start say where its processes are and that its stop runs
// nothing.
func (l *link) isSpent(ctx context.Context, p properties, s *units.Status, group string) (bool, error) {
	theirs := func(path string) bool {
		return path != "/usr/lib/systemd/system"+ourDropIn && path != "/lib/systemd/system"+ourDropIn
	}
	drops := get[[]string](p, "DropInPaths")
	if drops != nil && !slices.ContainsFunc(drops, theirs) {
		return cgroup.Empty(cgroup.Root, group), nil
	}
	more, err := l.readConcurrently(ctx, objectPath(s.Name), []string{"ExecStop", "ExecStopPost", "ControlGroup", "Delegate"})
	if err != nil {
		return false, err
	}
	s.ControlGroup = get[string](more, "ControlGroup")
	return more.isSpent(s), nil
}

// execStatus reads from ExecStart how the only command of a unit ended. ExecStart is an array of
// (path, arguments, whether to ignore a failure, begin and end by both clocks, pid, code, status).
// It returns false if the command has not ended.
func execStatus(p properties, s *units.Status) bool {
	const began, ended, endedMonotonic, code, status, fields = 3, 5, 6, 8, 9, 10
	commands := get[[][]any](p, "ExecStart")
	if len(commands) != 1 || len(commands[0]) != fields {
		return false
	}
	c := commands[0]
	s.Started, _ = c[began].(uint64)
	s.Ended, _ = c[ended].(uint64)
	monotonic, _ := c[endedMonotonic].(uint64)
	s.EndAge = age(monotonic)
	s.MainCode, _ = c[code].(int32)
	s.MainStatus, _ = c[status].(int32)
	return s.MainCode != 0
}

// ofAnyUnit are the properties of the interface that every unit has.
var ofAnyUnit = map[string]bool{"DropInPaths": true}

// readConcurrently reads some properties of a service at the same time.
func (l *link) readConcurrently(ctx context.Context, path dbus.ObjectPath, names []string) (properties, error) {
	select {
	case l.batches <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-l.batches }()
	answers := make(chan *dbus.Call, len(names))
	asked := map[*dbus.Call]string{}
	for _, name := range names {
		iface := serviceIface
		if ofAnyUnit[name] {
			iface = unitIface
		}
		asked[l.conn.Object(destination, path).GoWithContext(ctx, propertyIface+".Get", 0, answers, iface, name)] = name
	}
	p := properties{}
	for range names {
		call := <-answers // arrives when ctx or the connection ends at the latest
		var v dbus.Variant
		if err := call.Store(&v); err != nil {
			return nil, err
		}
		p[asked[call]] = v
	}
	return p, nil
}
