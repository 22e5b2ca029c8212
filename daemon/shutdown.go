package daemon

import (
	"context"
	"log/slog"
	"sync/atomic"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/units"
)

// A shutdown or reboot stops all units at once, ours not before those of jobs. What happens to jobs
// from then on is not their doing. It is left to the next start, which finds another run of systemd
// and treats running jobs as after a power cut.

// shutdown knows whether systemd is stopping everything.
type shutdown struct {
	system System // nil: it never does
	inbox  *inbox
	log    *slog.Logger

	begun atomic.Bool
}

// mayBeShutdown reports whether systemd's shutdown may have stopped a unit. A unit that has ended and is
// still active ended by itself.
func mayBeShutdown(st *units.Status) bool {
	switch phase, _ := units.Decode(*st); phase {
	case units.PhaseRunning, units.PhaseStarting:
		return false
	}
	return st.Active != units.ActiveActive
}

// underway reports whether systemd is stopping everything. It also returns true if systemd can't be
// asked, which a shutdown causes. To judge a unit, call it after reading that unit.
func (s *shutdown) underway(ctx context.Context) bool {
	if s.system == nil {
		return false
	}
	state, err := s.system(ctx)
	if err != nil {
		return true
	}
	s.note(state.Stopping)
	return state.Stopping
}

// note tells the core when a shutdown begins or is called off.
func (s *shutdown) note(stopping bool) {
	if s.begun.Swap(stopping) == stopping {
		return
	}
	if stopping {
		s.log.Info("systemd is shutting down: no job starts any more, and the next start of the daemon deals with the running ones")
	} else {
		s.log.Info("systemd called its shutdown off")
	}
	s.inbox.post(core.Leaving{Not: !stopping})
}
