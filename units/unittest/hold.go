package unittest

import (
	"context"
	"fmt"

	"github.com/gpusched/gpusched/units"
)

type hold struct {
	op   Op
	name string
}

// Hold makes starts (OpStart) or stops (OpStop) of the named unit hang until Release, or until a
// stop cancels the start. The caller waits, or returns units.ErrBus when its context ends. The
// operation then continues without its caller.
func (s *Systemd) Hold(op Op, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holds[hold{op, name}] = true
}

// Release lets the held operation of the named unit finish. Later operations do not hang.
func (s *Systemd) Release(op Op, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.holds, hold{op, name})
	u := s.units[name]
	if u == nil || u.held == nil {
		return
	}
	starting := u.status.Active == units.ActiveActivating
	if starting != (op == OpStart) {
		return
	}
	held := u.held
	u.held = nil
	if starting {
		s.begin(u)
	} else {
		s.remove(u)
	}
	close(held)
}

// await releases the lock while an operation on u is held. The function that ends the hold closes
// u.held.
func (s *Systemd) await(ctx context.Context, u *unit) error {
	if u.held == nil {
		u.held = make(chan struct{})
	}
	held := u.held
	s.mu.Unlock()
	defer s.mu.Lock()
	s.wait(held, ctx.Done())
	select {
	case <-held:
		if u.lost {
			return fmt.Errorf("unit %q: %w", u.status.Name, units.ErrBus)
		}
		return nil
	default:
		return fmt.Errorf("unit %q: %w: %w", u.status.Name, units.ErrBus, ctx.Err())
	}
}
