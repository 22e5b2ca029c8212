package systemd

import (
	"context"
	"fmt"
	"slices"
	"sync"

	sddbus "github.com/coreos/go-systemd/v22/dbus"

	"github.com/gpusched/gpusched/units"
)

// listAtOnce limits the concurrent status reads of one List.
const listAtOnce = 4

// List reads the state of every unit of a job that systemd has, sorted by name. It leaves out units
// that vanish meanwhile.
func (m *Manager) List(ctx context.Context) ([]units.Status, error) {
	l, err := m.current()
	if err != nil {
		return nil, fmt.Errorf("list of units: %w", err)
	}
	names, err := m.loadedNames(ctx, l)
	if err != nil {
		return nil, err
	}
	return m.readAll(ctx, l, names)
}

// loadedNames returns the names of the jobs' units that systemd has, sorted. It notes the slices that
// belong to single jobs.
func (m *Manager) loadedNames(ctx context.Context, l *link) ([]string, error) {
	var found []sddbus.UnitStatus
	if err := l.manager(ctx, "ListUnitsByPatterns", []string{}, []string{units.Pattern, units.SlicePattern}).Store(&found); err != nil {
		return nil, wrap("list of units", units.Pattern, err)
	}
	var names []string
	for _, u := range found {
		if _, ok := units.ParseName(u.Name); ok && u.LoadState != units.LoadNotFound {
			names = append(names, u.Name)
		} else if isJobSlice(u.Name) && !m.user {
			m.slices.note(u.Name)
		}
	}
	slices.Sort(names)
	m.wakeOpener()
	return names, nil
}

func (m *Manager) readAll(ctx context.Context, l *link, names []string) ([]units.Status, error) {
	all := make([]units.Status, len(names))
	errs := make([]error, len(names))
	slots := make(chan struct{}, listAtOnce)
	var readers sync.WaitGroup
	for i, name := range names {
		slots <- struct{}{}
		readers.Go(func() {
			defer func() { <-slots }()
			all[i], errs[i] = readStatus(ctx, l, name)
		})
	}
	readers.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(all, func(s units.Status) bool { return s.Load == units.LoadNotFound }), nil
}
