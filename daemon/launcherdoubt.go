package daemon

import (
	"sync"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/units"
)

// leastForCheck is the host memory below which a job is started without that: it may be too little for the launcher,
// which is then no fault of the machine.
const leastForCheck = 64 << 20

// launcherDoubt counts what the launcher may not have survived: a start of the daemon, another file in its place, what
// systemd read anew, and an end without its word. The starts after that have systemd run it once before the job's own
// launcher (units.Spec.Check), until one of them goes well: a launcher that dies would end each job that waits.
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
func (d *Daemon) unitOf(st units.Status) core.Unit {
	if st.Wordless() {
		d.launcher.doubt()
	}
	return unitOf(st)
}
