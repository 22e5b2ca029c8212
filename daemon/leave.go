package daemon

import (
	"context"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/units"
)

// A shutdown, and a reboot of any kind, has systemd stop all units at once, ours
// not before those of jobs. What becomes of these from then on is nothing that a
// job did: it is left to the next start, which finds another run of systemd and
// deals with running jobs as after a power cut.

// swept reports whether a unit may have been brought to its state by a stop of
// systemd's. One that is active and has ended did so by itself.
func swept(st *units.Status) bool {
	switch phase, _ := units.Decode(*st); phase {
	case units.PhaseRunning, units.PhaseStarting:
		return false
	}
	return st.Active != units.ActiveActive
}

// leaves reports whether systemd stops everything, or can't be asked, which comes
// of the same. To be right about a unit it is asked after that was read.
func (d *Daemon) leaves(ctx context.Context) bool {
	if d.opt.System == nil {
		return false
	}
	s, err := d.opt.System(ctx)
	if err != nil {
		return true
	}
	d.leave(s.Stopping)
	return s.Stopping
}

// leave tells the core when that changes.
func (d *Daemon) leave(stopping bool) {
	if d.leaving.Swap(stopping) == stopping {
		return
	}
	if stopping {
		d.log.Info("systemd stops everything: nothing is started any more, and what it does to jobs is left to the next start")
	} else {
		d.log.Info("systemd goes on after all")
	}
	d.post(core.Leaving{Not: !stopping})
}
