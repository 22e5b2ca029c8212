package systemd

import (
	"context"
	"fmt"
	"time"

	"github.com/gpusched/gpusched/units"
	"github.com/gpusched/gpusched/units/retry"
)

// systemd refuses a freeze or thaw while an earlier one is under way. That takes milliseconds
// unless a process delays it. So a refused request is repeated, at most this many times.
const (
	freezeTries = 13               // three seconds, for a machine that is busy
	freezePause = time.Millisecond // the first pause between requests; each further pause is twice as long
)

// Freeze asks systemd to freeze every process of the named unit, or to thaw them, and returns once
// systemd has begun. The error is units.ErrAbsent if there is no such unit. Freezing a frozen unit
// changes nothing.
//
// systemd would answer only when all processes are frozen. A process that waits for its user's own
// file server is never frozen. So Freeze requests no answer, and reads the unit's state instead.
func (m *Manager) Freeze(ctx context.Context, name string, on bool) error {
	method := "ThawUnit"
	if on {
		method = "FreezeUnit"
	}
	l, err := m.linkFor("freeze", name)
	if err != nil {
		return err
	}
	frozenWith := m.slices.of(name) // a frozen slice freezes all units in it
	if len(frozenWith) == 0 {
		frozenWith = []string{name}
	}
	for try := 1; ; try++ {
		for _, one := range frozenWith {
			if err := l.callWithoutReply(ctx, method, one); err != nil {
				return wrap("freeze unit", name, err)
			}
		}
		s, err := m.Status(ctx, name) // systemd answers this call after it has handled the request
		phase, _ := units.Decode(s)
		switch {
		case err != nil:
			return err
		case s.Load == units.LoadNotFound:
			return fmt.Errorf("freeze unit %q: %w", name, units.ErrAbsent)
		case s.Frozen == on || on && phase != units.PhaseRunning: // the unit has ended, or is ending
			return nil
		case try == freezeTries:
			return fmt.Errorf("%s %q: systemd did not do it: either its last freeze or thaw of the unit is still under way "+
				"('systemctl show -P FreezerState %s'), or this kernel can't freeze", method, name, name)
		}
		select {
		case <-time.After(retry.After(try, freezePause, time.Second)):
		case <-ctx.Done():
			return wrap("freeze unit", name, ctx.Err())
		}
	}
}
