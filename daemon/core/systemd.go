package core

import (
	"cmp"
	"iter"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// systemd is what the core knows about systemd and the running boot.
type systemd struct {
	boot      string             // the kernel's boot
	run       string             // the run of systemd in that boot
	stopping  bool               // systemd stops everything
	end       job.Shutdown       // the shutdown or reboot that logind has scheduled; zero: none
	reboots   rebooting          // the reboot for which the machine is drained
	wasListed bool               // the units have been listed since New
	seen      time.Time          // when an earlier daemon last saw that the machine was on; zero: unknown
	orphans   map[job.ID]int     // for each unit without a job, the number of consecutive listings that contained it
	warnings  map[job.ID]warning // warnings that may not have arrived
}

func newSystemd(boot string, seen time.Time) systemd {
	return systemd{boot: boot, seen: seen, warnings: map[job.ID]warning{}}
}

// shift adjusts the recorded times after the clock was set.
func (s *systemd) shift(by time.Duration, now time.Time) {
	job.Shift(by, now, &s.seen, &s.reboots.next)
	for id, w := range s.warnings {
		s.warnings[id] = warning{job.Shifted(w.again, by, now), job.Shifted(w.since, by, now)}
	}
}

func (s *systemd) lastSeen() time.Time        { return s.seen }
func (s *systemd) bootID() string             { return s.boot }
func (s *systemd) runID() string              { return s.run }
func (s *systemd) leaving() bool              { return s.stopping }
func (s *systemd) listed() bool               { return s.wasListed }
func (s *systemd) setLeaving(down bool)       { s.stopping = down }
func (s *systemd) setEnd(e *job.Shutdown)     { s.end = *e }
func (s *systemd) scheduledEnd() job.Shutdown { return s.end }
func (s *systemd) rebootNext() time.Time      { return s.reboots.next }
func (s *systemd) rebootProblem() string      { return s.reboots.refused }
func (s *systemd) forgetReboot()              { s.reboots = rebooting{} }
func (s *systemd) asksReboot(next time.Time)  { s.reboots.next = next }
func (s *systemd) refuseReboot(why string)    { s.reboots.refused = why }
func (s *systemd) setListed()                 { s.wasListed = true }

// noteRun records the boot, and the run of systemd in which the units were started.
func (s *systemd) noteRun(boot, run string) { s.boot, s.run = boot, cmp.Or(run, boot) }

// isRebooted reports whether the unit of an attempt was ended by a reboot of any kind.
func (s *systemd) isRebooted(a *job.Attempt) bool { return a.BootID != s.run }

// wasOff is like isRebooted, but before the first listing it can't detect a soft reboot, and
// returns false for attempts of this boot.
func (s *systemd) wasOff(a *job.Attempt) bool {
	if boot, _, _ := strings.Cut(a.BootID, "."); s.run == "" {
		return boot != s.boot
	}
	return s.isRebooted(a)
}

// ReportedAt is the number of consecutive listings after which a unit without a job is reported. If
// a unit is only about to be collected, it is gone by then.
const ReportedAt = 2

// noteOrphans records the units of a listing that have no job. It yields each of them with the
// number of consecutive listings that contained it.
func (s *systemd) noteOrphans(units []Unit) iter.Seq2[Unit, int] {
	before := s.orphans
	s.orphans = map[job.ID]int{}
	for _, u := range units {
		s.orphans[u.Job] = before[u.Job] + 1
	}
	return func(yield func(Unit, int) bool) {
		for _, u := range units {
			if !yield(u, s.orphans[u.Job]) {
				return
			}
		}
	}
}
