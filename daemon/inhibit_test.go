package daemon

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gpusched/gpusched/daemon/job"
)

type fakeLock struct{ lost, closed bool }

func (l *fakeLock) Held() bool { return !l.lost }
func (l *fakeLock) Close()     { l.closed = true }

// The lock is taken when the first job starts and released when the last one ends.
// It is taken again if logind loses it or the setting changes.
// If it can't be taken, only a line of health shows that.
func TestInhibitor(t *testing.T) {
	var settings atomic.Pointer[Settings]
	settings.Store(&Settings{Inhibit: "sleep:idle"})
	var fail error
	var locks []*fakeLock
	var whats []string
	i := &inhibitor{host: machine{}, log: slog.New(slog.DiscardHandler), settings: &settings, bell: machine{}.Wakeup()}
	i.take = func(_ context.Context, what string) (Lock, error) {
		if fail != nil {
			return nil, fail
		}
		locks, whats = append(locks, &fakeLock{}), append(whats, what)
		return locks[len(locks)-1], nil
	}
	look := func(jobs bool, open int, health job.Health, text string) {
		t.Helper()
		i.setRunning(jobs)
		i.update(t.Context())
		n := 0
		for _, l := range locks {
			if !l.closed {
				n++
			}
		}
		if c := i.check(); n != open || c.Health != health || !strings.Contains(c.Detail, text) {
			t.Errorf("%d locks are held, want %d with %s %q: %+v", n, open, health, text, c)
		}
	}
	look(false, 0, job.Healthy, "no job runs")
	look(true, 1, job.Healthy, "does not sleep")
	look(true, 1, job.Healthy, "does not sleep")
	locks[0].lost = true
	look(true, 1, job.Healthy, "does not sleep")
	settings.Store(&Settings{Inhibit: "shutdown:sleep:idle"})
	look(true, 1, job.Healthy, "does not sleep")
	settings.Store(&Settings{})
	look(true, 0, job.Healthy, "daemon.inhibit")
	settings.Store(&Settings{Inhibit: "sleep:idle"})
	fail = errors.New("no logind")
	look(true, 0, job.Limited, "no logind")
	fail = nil
	look(true, 1, job.Healthy, "does not sleep")
	i.letGo(t.Context(), false)
	look(true, 1, job.Healthy, "does not sleep")
	i.off.Store(true) // the machine is to reboot
	look(true, 0, job.Healthy, "")
	i.letGo(t.Context(), true)
	look(false, 0, job.Healthy, "no job runs")
	if got := strings.Join(whats, " "); got != "sleep:idle sleep:idle shutdown:sleep:idle sleep:idle" {
		t.Errorf("locks on %s", got)
	}
}

// When its context ends, the inhibitor releases the lock.
func TestInhibitorEnds(t *testing.T) {
	var settings atomic.Pointer[Settings]
	settings.Store(&Settings{Inhibit: "sleep:idle"})
	lock := &fakeLock{}
	i := &inhibitor{host: machine{}, log: slog.New(slog.DiscardHandler), settings: &settings, bell: machine{}.Wakeup()}
	ctx, cancel := context.WithCancel(t.Context())
	i.take = func(context.Context, string) (Lock, error) { cancel(); return lock, nil }
	i.setRunning(true)
	i.run(ctx)
	if !lock.closed {
		t.Error("the lock is still held")
	}
}
