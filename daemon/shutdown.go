package daemon

import (
	"context"
	"log/slog"
	"sync/atomic"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/units"
)

// A shutdown or reboot stops all units at the same time: the daemon may stop later than the jobs.
// Jobs that end after its beginning did not end by themselves, so their ends are not recorded. The
// next daemon notices that systemd was started anew, and treats these jobs as after a power cut.

// shutdown knows whether systemd is stopping all units.
type shutdown struct {
	system System // nil: systemd never shuts down
	inbox  *inbox
	log    *slog.Logger

	begun atomic.Bool
}

// mayBeShutdown reports whether systemd's shutdown may have stopped a unit. If a unit's command has
// ended and the unit is still active, the command ended by itself.
func mayBeShutdown(st *units.Status) bool {
	switch phase, _ := units.Decode(*st); phase {
	case units.PhaseRunning, units.PhaseStarting:
		return false
	}
	return st.Active != units.ActiveActive
}

// This method reports whether systemd is stopping all units. It also returns true if systemd can't
// be asked, because a shutdown causes that too. To judge a unit, read the unit first, and then call
// underway.
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

// note tells the core when a shutdown begins, and when it is called off.
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
