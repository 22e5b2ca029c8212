package systemd

import (
	"context"
	"fmt"
	"time"

	"github.com/gpusched/gpusched/units"
	"github.com/gpusched/gpusched/units/retry"
)

// How often systemd is asked for what it does not begin: it refuses while the freeze or the
// thaw before is under way, which takes milliseconds unless a process holds it up.
const (
	freezeTries = 10
	freezePause = time.Millisecond // after the first, and twice as long after each further one
)

// Freeze asks systemd to halt every process of the named unit, or to let them continue, and returns once systemd
// has begun. The error is units.ErrAbsent if there is no such unit. Halting a halted unit changes nothing.
//
// systemd's answer would come when all of them stand still, which a process that waits for its
// user's own file server never does. So none is asked for, and the unit's state tells instead.
func (m *Manager) Freeze(ctx context.Context, name string, on bool) error {
	method := "ThawUnit"
	if on {
		method = "FreezeUnit"
	}
	l, err := m.linkFor("freeze", name)
	if err != nil {
		return err
	}
	for try := 1; ; try++ {
		if err := l.order(ctx, method, name); err != nil {
			return wrap("freeze unit", name, err)
		}
		s, err := m.Status(ctx, name) // which systemd answers after it has taken the order
		phase, _ := units.Decode(s)
		switch {
		case err != nil:
			return err
		case s.Load == units.LoadNotFound:
			return fmt.Errorf("freeze unit %q: %w", name, units.ErrAbsent)
		case s.Frozen == on || on && phase != units.PhaseRunning: // it has ended, or ends
			return nil
		case try == freezeTries:
			return fmt.Errorf("%s %q: systemd does not do it: either its last freeze or thaw of the unit is not over yet "+
				"('systemctl show -P FreezerState %s'), or this kernel can't freeze", method, name, name)
		}
		select {
		case <-time.After(retry.After(try, freezePause, time.Second)):
		case <-ctx.Done():
			return wrap("freeze unit", name, ctx.Err())
		}
	}
}
