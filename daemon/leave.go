package daemon

import (
	"context"
	"log/slog"
	"sync/atomic"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/units"
)

// A shutdown, and a reboot of any kind, has systemd stop all units at once, ours
// not before those of jobs. What becomes of these from then on is nothing that a
// job did: it is left to the next start, which finds another run of systemd and
// deals with running jobs as after a power cut.

// shutdown knows whether systemd stops everything.
type shutdown struct {
	system System // nil: it never does
	inbox  *inbox
	log    *slog.Logger

	begun atomic.Bool
}

// swept reports whether a unit may have been brought to its state by a stop of
// systemd's. One that is active and has ended did so by itself.
func swept(st *units.Status) bool {
	switch phase, _ := units.Decode(*st); phase {
	case units.PhaseRunning, units.PhaseStarting:
		return false
	}
	return st.Active != units.ActiveActive
}

// underway reports whether systemd stops everything, or can't be asked, which comes
// of the same. To be right about a unit it is asked after that was read.
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

// note tells the core when that changes.
func (s *shutdown) note(stopping bool) {
	if s.begun.Swap(stopping) == stopping {
		return
	}
	if stopping {
		s.log.Info("systemd stops everything: nothing is started any more, and what it does to jobs is left to the next start")
	} else {
		s.log.Info("systemd goes on after all")
	}
	s.inbox.post(core.Leaving{Not: !stopping})
}
