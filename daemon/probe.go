package daemon

import (
	"context"
	"sync"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// Check examines a part of the machine that only the main program can examine.
type Check struct {
	Name string
	Look func(context.Context) job.Check
}

// CheckTime limits each probe. All probes run at the same time, so it also limits all of them
// together.
const CheckTime = 3 * time.Second

// probeFresh is the time for which a result is used again, because every status request needs all
// results.
const probeFresh = time.Second

// probe runs a Check, but never twice at the same time. A part that hangs therefore occupies only
// one goroutine.
type probe struct {
	Check
	mu    sync.Mutex // guards the fields below
	since time.Time  // start of the running probe; zero: none runs
	last  job.Check
	at    time.Time // time of the result in last; zero: no result yet
	wait  []func(job.Check)
	void  bool // the running probe began before a reset, so its result does not count
}

// begin returns what is known about the part. If pending is true, the running probe will pass its
// result to the function report. If mustRun is true, the caller must run that probe.
func (l *probe) begin(now time.Time, report func(job.Check)) (known job.Check, pending, mustRun bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case !l.at.IsZero() && now.Sub(l.at) < probeFresh:
		return l.last, false, false
	case !l.since.IsZero() && now.Sub(l.since) >= CheckTime:
		return unresponsive(l.Name, l.since), false, false
	}
	mustRun = l.since.IsZero()
	if mustRun {
		l.since = now
	}
	l.wait = append(l.wait, report)
	return unresponsive(l.Name, l.since), true, mustRun
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

// reset makes the next caller start a new probe.
func (l *probe) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.at, l.void = time.Time{}, !l.since.IsZero()
}

// probes runs all Checks.
type probes struct {
	host Runtime
	stop <-chan struct{} // closed when nobody waits for results any more
	list []*probe
}

func (p *probes) reset() {
	for _, l := range p.list {
		l.reset()
	}
}

// probeResults collects the results of concurrent probes.
type probeResults struct {
	bell Wakeup
	mu   sync.Mutex // guards the fields below
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

// run makes all checks at the same time. A part that does not answer in time is reported as
// unresponsive.
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
				// Other callers may also wait for this probe, so the probe does not end with ctx.
				// It ends a bit before CheckTime, so that it can still report which part did not
				// answer.
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
