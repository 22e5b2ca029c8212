package daemon

import (
	"context"
	"sync"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// Check examines a part that only the main program knows.
type Check struct {
	Name string
	Look func(context.Context) job.Check
}

// CheckTime limits each probe, and all of them together.
const CheckTime = 3 * time.Second

// probeFresh is the age up to which a result is reused, since every status asks for all of them.
const probeFresh = time.Second

// probe runs a Check, at most once at a time however long it takes: a part that hangs costs one
// goroutine.
type probe struct {
	Check
	mu    sync.Mutex // guards what follows
	since time.Time  // start of the probe under way; zero: none
	last  job.Check
	at    time.Time // of last; zero: none yet
	wait  []func(job.Check)
	void  bool // the probe under way may have examined what has changed since
}

// begin returns what is known of the part. If more is set, tell will be called with the outcome of
// the probe under way; if first is set, the caller must run that probe.
func (l *probe) begin(now time.Time, tell func(job.Check)) (known job.Check, more, first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case !l.at.IsZero() && now.Sub(l.at) < probeFresh:
		return l.last, false, false
	case !l.since.IsZero() && now.Sub(l.since) >= CheckTime:
		return unresponsive(l.Name, l.since), false, false
	}
	first = l.since.IsZero()
	if first {
		l.since = now
	}
	l.wait = append(l.wait, tell)
	return unresponsive(l.Name, l.since), true, first
}

func (l *probe) end(c job.Check, now time.Time) {
	l.mu.Lock()
	wait := l.wait
	l.since, l.wait = time.Time{}, nil
	l.last, l.at = c, now
	if l.void {
		l.at, l.void = time.Time{}, false
	}
	l.mu.Unlock()
	for _, tell := range wait {
		tell(c)
	}
}

// reset makes the next caller probe again.
func (l *probe) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.at, l.void = time.Time{}, !l.since.IsZero()
}

// probes runs all Checks.
type probes struct {
	host Runtime
	stop <-chan struct{} // closed when nobody waits any more
	list []*probe
}

func (p *probes) reset() {
	for _, l := range p.list {
		l.reset()
	}
}

// probeResults gathers the results of concurrent probes.
type probeResults struct {
	bell Wakeup
	mu   sync.Mutex // guards what follows
	list []job.Check
	left int
}

// put adds the result of a probe.
func (s *probeResults) put(i int, c job.Check) {
	s.mu.Lock()
	s.list[i] = c
	s.left--
	s.mu.Unlock()
	s.bell.Ring()
}

func (s *probeResults) missing() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.left
}

// run makes all checks at once. It reports a part that does not answer in time as unresponsive.
func (p *probes) run(ctx context.Context) []job.Check {
	now := p.host.Now()
	s := &probeResults{bell: p.host.Wakeup(), list: make([]job.Check, len(p.list))}
	for i, l := range p.list {
		known, more, first := l.begin(now, func(c job.Check) { s.put(i, c) })
		s.mu.Lock()
		if s.list[i].Name == "" { // otherwise the probe has ended already
			s.list[i] = known
		}
		if more {
			s.left++
		}
		s.mu.Unlock()
		if first {
			p.host.Go(func() {
				// It serves all who ask meanwhile, and ends early enough to report what it waited
				// for.
				ctx, cancel := p.host.Timeout(context.WithoutCancel(ctx), CheckTime*4/5)
				defer cancel()
				c := l.Look(ctx)
				l.end(c, p.host.Now())
			})
		}
	}
	for until := now.Add(CheckTime); s.missing() > 0 && p.host.Now().Before(until); {
		s.bell.Wait(until, p.stop)
		if closed(p.stop) {
			break
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]job.Check(nil), s.list...)
}

func unresponsive(name string, since time.Time) job.Check {
	return job.Check{
		Name: name, Health: job.Degraded, Detail: "it has not answered since " + since.Format("15:04:05"),
		Next: "check what it depends on (systemctl status, dmesg); running jobs are not affected",
	}
}
