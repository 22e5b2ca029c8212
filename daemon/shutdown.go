package daemon

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units"
)

// A shutdown or reboot stops all units at the same time, so the daemon may stop later than the
// jobs. A job that ends after the shutdown has begun did not end by itself, so its end is not
// recorded. The next daemon notices that systemd was started anew, and treats these jobs as it does
// after a power cut.

// shutdown knows whether systemd is stopping all units, and when the machine is to shut down.
type shutdown struct {
	system    System    // nil: systemd never shuts down
	scheduled Scheduled // nil: no shutdown is ever scheduled
	host      Runtime
	inbox     *inbox
	log       *slog.Logger

	letGo func(ctx context.Context, yes bool) // inhibitor.letGo

	begun atomic.Bool

	once   sync.Mutex // held while logind is asked
	end    job.Shutdown
	failed lastFailure
}

// Scheduled returns the shutdown of the machine that logind has scheduled, such as after 'shutdown
// -r 6:00'. A zero time means that there is none.
type Scheduled func(ctx context.Context) (job.Shutdown, error)

// Reboot reboots the machine. The argument why is shown on the terminals of users.
type Reboot func(ctx context.Context, why string) error

const (
	scheduleEvery = 10 * time.Second // before version 257, logind does not announce changes
	scheduleTime  = 5 * time.Second
)

// watch looks for scheduled shutdowns of the machine until ctx is done.
func (s *shutdown) watch(ctx context.Context) {
	if s.scheduled == nil {
		return
	}
	pause := s.host.Wakeup()
	for ctx.Err() == nil {
		s.poll(ctx)
		pause.Wait(s.host.Now().Add(scheduleEvery), ctx.Done())
	}
}

// poll tells the core when a shutdown of the machine is scheduled, and when it is called off. While
// logind does not answer, its last answer remains valid.
func (s *shutdown) poll(ctx context.Context) {
	if s.scheduled == nil {
		return
	}
	s.once.Lock()
	defer s.once.Unlock()
	ctx, cancel := s.host.Timeout(ctx, scheduleTime)
	defer cancel()
	end, err := s.scheduled(ctx)
	if _, was := s.failed.last(); err != nil && was == nil && ctx.Err() == nil {
		s.log.Warn("logind does not say whether a shutdown is scheduled; jobs start regardless", "err", err)
	}
	s.failed.note(err, s.host.Now())
	if err != nil || end.At.Equal(s.end.At) && end.How == s.end.How {
		return
	}
	if s.end = end; end.At.IsZero() {
		s.log.Info("no shutdown is scheduled any more")
	} else {
		s.log.Info("a shutdown is scheduled: jobs that may run longer wait", "how", end.How, "at", end.At)
	}
	s.inbox.post(core.Planned{End: end})
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

// isUnderway reports whether systemd is stopping all units. It also returns true if systemd can't
// be asked, because a shutdown causes that too. To judge a unit, read the unit first, and then call
// isUnderway.
func (s *shutdown) isUnderway(ctx context.Context) bool {
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
