package daemon

import (
	"context"
	"sync"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// Check looks at a part that only the main knows.
type Check struct {
	Name string
	Look func(context.Context) job.Check
}

// CheckTime is how long a look may take, and health as a whole.
const CheckTime = 3 * time.Second

// look is a Check of which no more than one is under way, however long that
// takes: a part that hangs costs one activity.
type look struct {
	Check
	mu    sync.Mutex // guards since
	since time.Time  // of the one under way; zero: none
}

// begin tells whether a look may begin, and if not, since when one is under way.
func (l *look) begin(now time.Time) (since time.Time, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.since.IsZero() {
		return l.since, false
	}
	l.since = now
	return now, true
}

func (l *look) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.since = time.Time{}
}

// seen gathers looks that go on beside one another.
type seen struct {
	bell Bell
	mu   sync.Mutex // guards what follows
	list []job.Check
	left int
}

func (s *seen) put(i int, c job.Check) {
	s.mu.Lock()
	s.list[i] = c
	s.left--
	s.mu.Unlock()
	s.bell.Ring()
}

func (s *seen) missing() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.left
}

// lookAround makes all checks at once. A part that does not answer in time is
// told of as such.
func (d *Daemon) lookAround(ctx context.Context) []job.Check {
	now := d.host.Now()
	s := &seen{bell: d.host.Bell(), list: make([]job.Check, len(d.looks)), left: len(d.looks)}
	ctx, cancel := d.host.Timeout(ctx, CheckTime*4/5) // so that a look can say itself what it waited for
	defer cancel()
	for i, l := range d.looks {
		since, ok := l.begin(now)
		s.list[i] = silent(l.Name, since)
		if !ok {
			s.left--
			continue
		}
		d.host.Go(func() {
			c := l.Look(ctx)
			l.end()
			s.put(i, c)
		})
	}
	for until := now.Add(CheckTime); s.missing() > 0 && d.host.Now().Before(until); {
		s.bell.Wait(until, d.done)
		if closed(d.done) {
			break
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]job.Check(nil), s.list...)
}

func silent(name string, since time.Time) job.Check {
	return job.Check{
		Name: name, Health: job.Degraded, Detail: "it has not answered since " + since.Format("15:04:05"),
		Next: "see what it stands on (systemctl status, dmesg); running jobs are not affected",
	}
}
