package daemon

import (
	"sync"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/units"
)

// leastForCheck is the smallest host memory of a job whose launcher is checked before the start.
// With less memory, the job's own limit may kill the launcher, which says nothing about the
// machine.
const leastForCheck = 64 << 20

// launcherDoubt counts the events after which the launcher may no longer work. These are a start of
// the daemon, a new launcher file, a reload of systemd's settings, and a job that ended before its
// launcher reported. After such an event, each start of a job first makes systemd run the launcher
// once as a check (units.Spec.Check), until a check succeeds. Without the check, a broken launcher
// would end every waiting job.
type launcherDoubt struct {
	mu     sync.Mutex
	events int
	lived  int // number of events when the launcher last worked
	file   string
}

// add counts an event.
func (l *launcherDoubt) add() {
	l.mu.Lock()
	l.events++
	l.mu.Unlock()
}

// count returns the number of events so far. After a successful start, the caller passes this
// number to setWorked. The number is 0 if the launcher has worked since the last event.
func (l *launcherDoubt) count(file func() string) int {
	now := ""
	if file != nil {
		now = file() // before the lock, because the file system may hang
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if now != l.file {
		l.file = now
		l.events++
	}
	if l.events == l.lived {
		return 0
	}
	return l.events
}

// setWorked records that the launcher worked. The argument is the number that the method count has
// returned.
func (l *launcherDoubt) setWorked(events int) {
	l.mu.Lock()
	l.lived = max(l.lived, events)
	l.mu.Unlock()
}

// convert converts systemd's state of a unit, as unitOf does. If the launcher may have failed in
// the unit, convert also counts an event.
func (x *executor) convert(st units.Status) core.Unit {
	if st.Wordless() {
		x.launcher.add()
	}
	return unitOf(st)
}
