package daemon

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/core/gpus"
	"github.com/gpusched/gpusched/daemon/core/site"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/gpu"
	"github.com/gpusched/gpusched/units"
)

// sampler reads the GPUs in two ways. A look is quick, and happens as soon as the core asks for it.
// A sample reads everything, and happens periodically. Nobody waits for it. There is never more
// than one reading at a time.
type sampler struct {
	d     *Daemon
	asked atomic.Uint64 // number of the newest look that the core asked for
	wake  Wakeup

	mu      sync.Mutex
	waiting []*lookAsked // looks that others asked for
}

// lookAsked is a look that somebody waits for.
type lookAsked struct {
	done atomic.Bool
	bell Wakeup
}

// lookTime is how long lookNow waits for a driver that does not answer.
const lookTime = 2 * time.Second

// lookNow reads the GPUs. When it returns, the core has the reading, unless the driver is too slow.
func (s *sampler) lookNow(ctx context.Context) {
	w := &lookAsked{bell: s.d.host.Wakeup()}
	s.mu.Lock()
	s.waiting = append(s.waiting, w)
	s.mu.Unlock()
	s.wake.Ring()
	until := s.d.host.Now().Add(lookTime)
	for !w.done.Load() && ctx.Err() == nil && !isPast(until, s.d.host.Now()) {
		w.bell.Wait(until, ctx.Done())
	}
}

// takeWaiting returns the looks that are asked for, which the caller then does.
func (s *sampler) takeWaiting() []*lookAsked {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.waiting
	s.waiting = nil
	return list
}

func (s *sampler) isAwaited() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.waiting) > 0
}

func (s *sampler) ask(number uint64) {
	s.asked.Store(max(number, s.asked.Load()))
	s.wake.Ring()
}

// run reads the GPUs until ctx is done. It takes a full sample at each interval, and a short look
// whenever the core asks for one. Once per interval it also reads what running jobs have used,
// however many looks the core asks for.
func (s *sampler) run(ctx context.Context) {
	measured := s.d.host.Now()
	whole, looked := time.Time{}, uint64(0) // end of the last sample, and number of the last look
	for ctx.Err() == nil {
		number, now, waiting := s.asked.Load(), s.d.host.Now(), s.takeWaiting()
		interval := s.interval()
		due := whole.Add(interval)
		// A look that somebody waits for goes before a sample. But no sample is delayed by more
		// than one interval because of such looks.
		awaited := (number != looked || len(waiting) > 0) && !isPast(due.Add(interval), now)
		if awaited || !isPast(due, now) {
			s.d.inbox.post(s.look(ctx, s.d.opt.Source.Look, number))
		} else {
			s.d.inbox.post(s.look(ctx, s.d.opt.Source.Sample, number))
			whole = s.d.host.Now()
		}
		looked = number
		for _, w := range waiting {
			w.done.Store(true)
			w.bell.Ring()
		}
		if now := s.d.host.Now(); isPast(measured.Add(interval), now) {
			s.measure(ctx)
			measured = now
		}
		s.awaitNext(ctx, number, whole)
	}
}

// interval returns the time between two samples. Where idle jobs are parked, it is short enough to
// notice soon that one of them works again.
func (s *sampler) interval() time.Duration {
	set := s.d.settings.Load()
	if set.Policy.Usage.Idle == site.WarnAndPark {
		return min(set.SampleInterval, job.WakeSpan)
	}
	return set.SampleInterval
}

// awaitNext waits until the core asks for another look, or the next sample is due.
func (s *sampler) awaitNext(ctx context.Context, number uint64, whole time.Time) {
	until := whole.Add(s.interval())
	for ctx.Err() == nil && s.asked.Load() <= number && !s.isAwaited() && !isPast(until, s.d.host.Now()) {
		s.wake.Wait(until, ctx.Done())
	}
}

// reading is the method Sample or Look of a Source.
type reading func(context.Context) (gpu.Snapshot, error)

// look reads the GPUs once. If the source can't be asked, the result has no GPUs.
func (s *sampler) look(ctx context.Context, read reading, number uint64) core.Event {
	began := s.d.host.Now()
	snap, err := read(ctx)
	s.d.opt.Tally.Sample(s.d.host.Now().Sub(began), err != nil || snap.Problem != gpu.ProblemNone)
	if err != nil {
		snap = gpu.Snapshot{Problem: gpu.ProblemStale, Detail: err.Error()}
	}
	ev := core.Sampled{
		Number: number, Snap: snap, Driver: s.driver(snap.Driver), HasCUDA: s.d.opt.HasCUDA != nil && s.d.opt.HasCUDA(),
		Jobs: map[int]job.ID{}, Claims: map[int]gpus.Claim{}, Persons: map[int]gpus.Person{},
	}
	for _, dev := range snap.Devices {
		for _, p := range dev.Processes {
			if id, ok := units.ParseName(p.Unit); ok {
				ev.Jobs[p.PID] = job.ID(id)
			} else if uid, id, ok := units.ParseJobSlice(p.Unit); ok {
				ev.Claims[p.PID] = gpus.Claim{UID: uid, Job: job.ID(id)}
			}
			if s.d.opt.Person == nil {
				continue
			}
			if person, certain := s.d.opt.Person(p.UID); person != p.UID {
				ev.Persons[p.UID] = gpus.Person{UID: person, Unsure: !certain}
			}
		}
	}
	return ev
}

// driver returns the versions of the driver, or none if the site does not compare them. The
// argument reported is the version that the driver itself reports. That version is used if the
// kernel does not say which driver is loaded.
func (s *sampler) driver(reported string) (v gpu.DriverVersions) {
	if s.d.opt.Driver != nil && s.d.settings.Load().DriverCheck {
		v = s.d.opt.Driver()
		v.Loaded = cmp.Or(v.Loaded, reported)
	}
	return v
}

// measure reads what the running jobs have used so far.
func (s *sampler) measure(ctx context.Context) {
	groups, lenders := map[job.ID]string{}, map[job.ID]bool{}
	lend := s.d.opt.MemUsed != nil && s.d.settings.Load().Policy.MemReturn.Percent > 0
	err := s.d.inbox.ask(ctx, func(c *core.Core, now time.Time) {
		for _, j := range c.Active() {
			groups[j.ID], lenders[j.ID] = controlGroup(s.d.opt.Scope, &j), lend && j.Request.DefaultedMem
		}
	})
	if err != nil || len(groups) == 0 || s.d.opt.Meter == nil {
		return
	}
	var m core.Measured
	for id, group := range groups {
		if used, ok := s.d.opt.Meter(group); ok {
			u := core.Usage{Job: id, HostUse: used}
			if lenders[id] {
				u.MemUsed = s.d.opt.MemUsed(group)
			}
			m.Usage = append(m.Usage, u)
		}
	}
	s.d.inbox.post(m)
}
