package systemd

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	sddbus "github.com/coreos/go-systemd/v22/dbus"
	"github.com/godbus/dbus/v5"

	"github.com/gpusched/gpusched/cgroup"
	"github.com/gpusched/gpusched/units"
)

// runc gives the scope of a container a device filter of its own, which replaces the filter that
// systemd attached. At the next reload of systemd, the list of devices that systemd has for the
// scope takes effect. On runc 1.1.3 to 1.1.6 that list lacks the job's own GPUs. So a container's
// scope is opened after its start: from then on only the job's slice limits the devices. Opening
// the scope also gives back a GPU that a reload has taken away.
//
// The daemon learns of a new scope from the signal at the end of systemd's job that starts the
// scope. It finds all scopes in the directory of the slice. It looks there, too, when the units are
// listed: after its own start, after a reload of systemd, and every minute.

const scopeIface = "org.freedesktop.systemd1.Scope"

// isContainer reports whether a unit may be the scope of a container of Docker.
func isContainer(unit string) bool {
	id, is := strings.CutPrefix(unit, "docker-")
	id, scope := strings.CutSuffix(id, ".scope")
	return is && scope && len(id) == 64 && strings.Trim(id, "0123456789abcdef") == ""
}

// The pause between two looks at containers that are not open yet, and the maximum number of looks.
const (
	openEvery = 200 * time.Millisecond
	openTries = 100
)

// wakeOpener makes openContainers look at the containers, if a job has a slice.
func (m *Manager) wakeOpener() {
	for range m.slices.all.Range {
		select {
		case m.containers <- struct{}{}:
		default:
		}
		return
	}
}

// openContainers opens the scopes of containers whenever wakeOpener wakes it, until ctx ends.
func (m *Manager) openContainers(ctx context.Context) {
	for {
		select {
		case <-m.containers:
		case <-ctx.Done():
			return
		}
		for tries := 1; tries <= openTries && ctx.Err() == nil; tries++ {
			if m.openAll(ctx, tries == openTries) {
				break
			}
			sleep(ctx, openEvery)
		}
	}
}

// openTime limits the time of one look at the containers.
const openTime = 30 * time.Second

// openAll opens the scopes in all slices of jobs. It leaves out scopes in which it can't see that
// runc is done, unless the argument last is true. It returns false if it must look again soon.
func (m *Manager) openAll(ctx context.Context, last bool) (done bool) {
	l, err := m.current()
	if err != nil {
		return true // the next listing comes when the bus is back
	}
	ctx, cancel := context.WithTimeout(ctx, openTime)
	defer cancel()
	done = true
	for name := range m.slices.all.Range {
		for _, scope := range containersIn(m.root, name.(string)) {
			if !last && !isBegun(m.root, name.(string), scope) || openScope(ctx, l, scope) != nil {
				done = false
			}
		}
	}
	return done
}

// containersIn returns the scopes of the containers in a slice.
func containersIn(root, slice string) (scopes []string) {
	entries, err := os.ReadDir(filepath.Join(root, sliceGroup(slice)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if e.IsDir() && isContainer(e.Name()) {
			scopes = append(scopes, e.Name())
		}
	}
	return scopes
}

// isBegun reports whether a container runs the first process that every container of a job has.
// Before that process, runc is at work in the container and may still set its device filter.
func isBegun(root, slice, scope string) bool {
	list, _ := cgroup.Processes(root, "/proc", sliceGroup(slice)+"/"+scope)
	return slices.ContainsFunc(list, func(p cgroup.Process) bool { return p.Name == "docker-init" })
}

// openScope makes systemd attach no device filter to a scope, from now on and after reloads.
func openScope(ctx context.Context, l *link, scope string) error {
	p, err := l.properties(ctx, objectPath(scope), scopeIface, "DevicePolicy")
	if code(err) == errNoSuchUnit || code(err) == errNoObject {
		return nil // the container has ended
	}
	if err != nil || get[string](p, "DevicePolicy") == "auto" {
		return err
	}
	err = l.manager(ctx, "SetUnitProperties", scope, true, []sddbus.Property{
		{Name: "DevicePolicy", Value: dbus.MakeVariant("auto")},
		{Name: "DeviceAllow", Value: dbus.MakeVariant([]units.DeviceAllow{})},
	}).Err
	if code(err) == errNoSuchUnit {
		return nil
	}
	return err
}

// forgetFailed makes systemd drop the failed scopes of a slice, because they would keep the slice.
func forgetFailed(ctx context.Context, l *link, slice string) error {
	var found []sddbus.UnitStatus
	err := l.manager(ctx, "ListUnitsByPatterns", []string{units.ActiveFailed}, []string{"docker-*.scope"}).Store(&found)
	if err != nil {
		return wrap("list of units", slice, err)
	}
	for _, u := range found {
		p, err := l.properties(ctx, objectPath(u.Name), scopeIface, "Slice")
		if err == nil && get[string](p, "Slice") == slice {
			_ = l.manager(ctx, "ResetFailedUnit", u.Name).Err // it may be gone by now
		}
	}
	return nil
}
