package daemon

import (
	"sync"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/units"
)

// leastForCheck is the host memory below which a job's start is not checked: the job's own limit
// may kill the launcher then, which says nothing about the machine.
const leastForCheck = 64 << 20

// launcherDoubt counts the events after which the launcher may die at once: a start of the daemon,
// another launcher file, a reload of systemd's settings, a job that ended before its launcher
// reported. After such an event systemd runs the launcher once before each job's own
// (units.Spec.Check), until that succeeds. Otherwise a broken launcher would end every waiting job.
type launcherDoubt struct {
	mu     sync.Mutex
	events int
	lived  int // events that had happened when the launcher last worked
	file   string
}

// add records one such event.
func (l *launcherDoubt) add() {
	l.mu.Lock()
	l.events++
	l.mu.Unlock()
}

// pending returns the number of events, to be passed to worked, or 0 if the launcher has worked
// since the last one.
func (l *launcherDoubt) pending(file func() string) int {
	now := ""
	if file != nil {
		now = file() // its file system may hang
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

// worked records that the launcher worked after this many events.
func (l *launcherDoubt) worked(events int) {
	l.mu.Lock()
	l.lived = max(l.lived, events)
	l.mu.Unlock()
}

// unitOf is the function unitOf, and also records units whose launcher may have died.
func (x *executor) unitOf(st units.Status) core.Unit {
	if st.Wordless() {
		x.launcher.add()
	}
	return unitOf(st)
}
