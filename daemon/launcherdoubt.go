package daemon

import (
	"sync"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/units"
)

// leastForCheck is a limit on the check of the launcher before a job's start.
// A job with less host memory is not checked: its limit alone may kill the launcher,
// which says nothing about the machine.
const leastForCheck = 64 << 20

// launcherDoubt counts the events after which the launcher may no longer work.
// These are a start of the daemon, a new launcher file, a reload of systemd's settings,
// and a job that ended before its launcher reported. After such an event, systemd runs the launcher
// once as a check before it runs the launcher of each job (units.Spec.Check). This ends when a
// check succeeds. Without the check, a broken launcher would end every waiting job.
type launcherDoubt struct {
	mu     sync.Mutex
	events int
	lived  int // value of events when the launcher last worked
	file   string
}

// add counts an event.
func (l *launcherDoubt) add() {
	l.mu.Lock()
	l.events++
	l.mu.Unlock()
}

// pending returns the number of events so far, which the caller passes to worked.
// It returns 0 if the launcher has worked since the last event.
func (l *launcherDoubt) pending(file func() string) int {
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

// worked records that the launcher worked after this number of events.
func (l *launcherDoubt) worked(events int) {
	l.mu.Lock()
	l.lived = max(l.lived, events)
	l.mu.Unlock()
}

// unitOf is like the function unitOf. It also counts a unit whose launcher may have failed.
func (x *executor) unitOf(st units.Status) core.Unit {
	if st.Wordless() {
		x.launcher.add()
	}
	return unitOf(st)
}
