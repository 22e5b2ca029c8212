package daemon

import (
	"sync"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/units"
)

// leastForCheck is the host memory of a job below which its start is not checked: with less the launcher may die for
// the job's own limit, which is no fault of the machine.
const leastForCheck = 64 << 20

// launcherDoubt counts the events after which the launcher may die at once: a start of the daemon, another launcher
// file, a reload of systemd's settings, a job that ended before its launcher said a word. After such an event systemd
// runs the launcher once before each job's own (units.Spec.Check), until that has gone well: otherwise a launcher that
// dies would end every waiting job.
type launcherDoubt struct {
	mu     sync.Mutex
	events int
	lived  int // events, when it was last seen to live
	file   string
}

// doubt notes one.
func (l *launcherDoubt) doubt() {
	l.mu.Lock()
	l.events++
	l.mu.Unlock()
}

// doubted returns how many there were, for lives, and 0 where the launcher has been seen to live since.
func (l *launcherDoubt) doubted(file func() string) int {
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

// lives notes that the launcher was seen to live after so many events.
func (l *launcherDoubt) lives(events int) {
	l.mu.Lock()
	l.lived = max(l.lived, events)
	l.mu.Unlock()
}

// unitOf is unitOf, and notes where the launcher may have died.
func (x *executor) unitOf(st units.Status) core.Unit {
	if st.Wordless() {
		x.launcher.doubt()
	}
	return unitOf(st)
}
