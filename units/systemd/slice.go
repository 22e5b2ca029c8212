package systemd

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"

	"github.com/godbus/dbus/v5"

	"github.com/gpusched/gpusched/cgroup"
	"github.com/gpusched/gpusched/units"
)

// A container's scope is not part of the job's unit, and does not end when the unit is stopped. So
// a job's own slice (units.Scope.OwnSlice) is the fence around all processes of the job. The slice
// is made before the unit, and ended after the unit. Jobs without a slice need none of the calls in
// this file.

// sliceIface has the properties of a slice.
const sliceIface = "org.freedesktop.systemd1.Slice"

// errNotFence is the code of a refusal for a slice that does not have the job's device filter.
const errNotFence = "io.github.gpusched.SliceWithoutFilter"

// jobSlice is what is known about the slice of a single job.
type jobSlice struct {
	mu   sync.Mutex // held while the slice is being made or ended
	gone bool       // Tidy has found that the slice has no unit
}

// jobSlices are the jobs' own slices that systemd may have, by name.
type jobSlices struct{ all sync.Map }

// note records a slice that was found or is about to be made.
func (s *jobSlices) note(slice string) *jobSlice {
	v, _ := s.all.LoadOrStore(slice, &jobSlice{})
	return v.(*jobSlice)
}

// of returns the slices whose names contain the job of a unit. Only one of them can be the job's
// own slice. Somebody else made the others, and they are ended together with the job's own.
func (s *jobSlices) of(unit string) (list []string) {
	want, _ := units.ParseName(unit)
	for name := range s.all.Range {
		if _, id, _ := units.ParseJobSlice(name.(string)); id == want {
			list = append(list, name.(string))
		}
	}
	return list
}

// sliceGroup returns the control group of a job's own slice.
func sliceGroup(slice string) string {
	uid, _, _ := units.ParseJobSlice(slice)
	return units.Scope{}.ControlGroup(uid, slice)
}

func isJobSlice(name string) bool {
	_, _, ok := units.ParseJobSlice(name)
	return ok
}

// makeSlice makes the slice in which the named unit is about to start. If there is a slice of that
// name already, it belongs to no running job, since the unit does not exist: somebody else made the
// slice, or a daemon died before it made the unit. Such a slice is ended with everything in it.
func (m *Manager) makeSlice(ctx context.Context, l *link, name, slice string, props []units.Property) error {
	there, err := unitThere(ctx, l, name)
	if err != nil {
		return err
	}
	if there {
		return fmt.Errorf("start unit %q: %w", name, units.ErrExists)
	}
	if err := m.endSlice(ctx, l, slice); err != nil {
		return err
	}
	w := m.waiters.enter(slice, false)
	defer m.waiters.leave(slice, w)
	job, err := m.startTransient(ctx, l, slice, props)
	if errors.Is(err, units.ErrExists) {
		return notFence(slice, "a unit of this name has a file in /etc/systemd or /run/systemd")
	}
	if err != nil {
		return err
	}
	if _, err = m.await(ctx, l, w, job); err != nil {
		return wrap("start unit", slice, err)
	}
	return m.checkSlice(ctx, l, slice)
}

func notFence(slice, why string) error {
	return &units.RefusedError{Name: slice, Code: errNotFence, Message: "the job's slice " + slice + " could not be made: " + why}
}

// checkSlice reads the slice again: the slice must exist, with its filter, before the unit starts.
func (m *Manager) checkSlice(ctx context.Context, l *link, slice string) error {
	state, err := l.properties(ctx, objectPath(slice), unitIface, "ActiveState")
	if err != nil {
		return wrap("look at unit", slice, err)
	}
	p, err := l.properties(ctx, objectPath(slice), sliceIface, "DevicePolicy", "ControlGroup")
	if err != nil {
		return wrap("look at unit", slice, err)
	}
	active, policy := get[string](state, "ActiveState"), get[string](p, "DevicePolicy")
	if active != units.ActiveActive || policy != "closed" || get[string](p, "ControlGroup") != sliceGroup(slice) {
		return notFence(slice, fmt.Sprintf("it is %s with the device policy %q in the control group %q; is there a drop-in of the site for it?",
			active, policy, get[string](p, "ControlGroup")))
	}
	return nil
}

// endSlice kills everything in a slice and makes systemd drop the slice. A missing slice is not an
// error. units.ErrProcesses means that processes outlived SIGKILL. The job's processes have already
// had their grace time, when the job's unit was stopped.
func (m *Manager) endSlice(ctx context.Context, l *link, slice string) error {
	err := l.manager(ctx, "KillUnit", slice, string(units.All), int32(syscall.SIGKILL)).Err
	switch {
	case code(err) == errNoSuchUnit:
		return nil
	case err != nil && code(err) != errNoProcess:
		return wrap("kill unit", slice, err)
	}
	return m.stopSlice(ctx, l, slice)
}

func (m *Manager) stopSlice(ctx context.Context, l *link, slice string) error {
	w := m.waiters.enter(slice, false)
	defer m.waiters.leave(slice, w)
	job, err := m.halt(ctx, l, slice, func(job dbus.ObjectPath) (string, error) { return m.awaitKilled(ctx, l, w, job) })
	if err != nil || job == "" {
		return err
	}
	if err := forgetFailed(ctx, l, slice); err != nil {
		return err
	}
	if err := m.awaitEmpty(ctx, slice); err != nil {
		return err
	}
	return m.collect(ctx, l, w, slice)
}

// awaitEmpty waits until the killed processes of a slice have ended. systemd itself waits only for
// those in units.
func (m *Manager) awaitEmpty(ctx context.Context, slice string) error {
	for until := time.Now().Add(killPatience); !cgroup.Empty(m.root, sliceGroup(slice)); sleep(ctx, collectPause) {
		if ctx.Err() != nil || time.Now().After(until) {
			return fmt.Errorf("stop unit %q: %w", slice, units.ErrProcesses)
		}
	}
	return nil
}

// endSlices ends the slices whose names contain the job of a unit.
func (m *Manager) endSlices(ctx context.Context, name string) error {
	for _, slice := range m.slices.of(name) {
		l, err := m.linkFor("stop", name)
		if err != nil {
			return err
		}
		s := m.slices.note(slice)
		s.mu.Lock()
		err = m.endSlice(ctx, l, slice)
		s.mu.Unlock()
		if err != nil {
			return err
		}
		m.slices.all.Delete(slice)
	}
	return nil
}

// tidySlices ends the slices of jobs whose unit it has found missing twice in a row. A daemon that
// dies between its calls leaves such a slice behind, and anybody who may use Docker can make one. A
// slice whose unit is about to start is locked.
func (m *Manager) tidySlices(ctx context.Context) error {
	for name := range m.slices.all.Range {
		l, err := m.current()
		if err != nil {
			return fmt.Errorf("end slices without a job: %w", err)
		}
		if err := m.tidySlice(ctx, l, name.(string)); err != nil {
			return err
		}
	}
	return nil
}

func (m *Manager) tidySlice(ctx context.Context, l *link, slice string) error {
	s := m.slices.note(slice)
	if !s.mu.TryLock() {
		return nil
	}
	defer s.mu.Unlock()
	_, id, _ := units.ParseJobSlice(slice)
	there, err := unitThere(ctx, l, units.Name(id))
	if err != nil || there {
		s.gone = false
		return err
	}
	if before := s.gone; !before {
		s.gone = true
		return nil
	}
	if err := m.endSlice(ctx, l, slice); err != nil {
		return err
	}
	m.slices.all.Delete(slice)
	return nil
}

// ofSlice changes the status of a unit that has its own slice: the status then describes everything
// in the slice. Such a unit is never spent, because its slice remains to be stopped. If the kernel
// killed a process in a container for lack of memory, the main process ends with the status that a
// shell reports for SIGKILL.
func ofSlice(s *units.Status, slice string) {
	const killed = 128 + int32(syscall.SIGKILL)
	group := sliceGroup(slice)
	s.Spent = false
	used, err := cgroup.Read(cgroup.Root, group)
	if err != nil {
		return
	}
	s.ControlGroup = group
	s.CPUNSec = uint64(used.CPU)
	if used.PeakMemBytes != cgroup.Unknown {
		s.MemoryPeak = uint64(used.PeakMemBytes)
	}
	if s.MainCode == units.CLDExited && s.MainStatus == killed && cgroup.KilledByOOM(cgroup.Root, group) {
		s.Result = units.ResultOOM
	}
}

// endedBetween reports whether a unit has left the state active between two times, which are in
// microseconds of the monotonic clock: the begin and the end of the main process of a job that needs
// the unit. An upgrade of Docker restarts its daemon, and that ends its containers. A container that
// Docker can still stop ends by SIGTERM or SIGKILL, and any other with Docker's own exit status 125.
func (l *link) endedBetween(ctx context.Context, unit string, begin, end uint64) bool {
	p, err := l.properties(ctx, objectPath(unit), unitIface, "ActiveExitTimestampMonotonic")
	at := get[uint64](p, "ActiveExitTimestampMonotonic")
	return err == nil && at > begin && at < end
}

// dockerUnit is the unit of Docker's daemon.
const dockerUnit = "docker.service"

// noticeTime is enough time for systemd to notice the end of Docker's daemon, which may be a little
// later than Docker's client notices it.
const noticeTime = 5 * time.Second
