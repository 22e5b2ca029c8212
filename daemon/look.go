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

// lookFresh is how long a look is good for: every status asks for all of them.
const lookFresh = time.Second

// look is a Check of which no more than one is under way, however long that
// takes: a part that hangs costs one activity.
type look struct {
	Check
	mu    sync.Mutex // guards what follows
	since time.Time  // of the one under way; zero: none
	last  job.Check
	at    time.Time // of last; zero: none yet
}

// begin returns what is known of the part, and whether to look at it now.
func (l *look) begin(now time.Time) (known job.Check, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case !l.since.IsZero():
		return silent(l.Name, l.since), false
	case !l.at.IsZero() && now.Sub(l.at) < lookFresh:
		return l.last, false
	}
	l.since = now
	return silent(l.Name, now), true
}

func (l *look) end(c job.Check, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.since, l.last, l.at = time.Time{}, c, now
}

// seen gathers looks that go on beside one another.
type seen struct {
	bell Bell
	mu   sync.Mutex // guards what follows
	list []job.Check
	left int
}

// set takes in what is known before a look, and whether there will be one.
func (s *seen) set(i int, c job.Check, look bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list[i] = c
	if !look {
		s.left--
	}
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
		known, ok := l.begin(now)
		s.set(i, known, ok)
		if !ok {
			continue
		}
		d.host.Go(func() {
			c := l.Look(ctx)
			l.end(c, d.host.Now())
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
