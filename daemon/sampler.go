package daemon

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/core/gpus"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/gpu"
	"github.com/gpusched/gpusched/units"
)

// sampler looks at the GPUs, at once when the core asks and from time to time by itself;
// those of its own are whole samples, and nobody waits for them. Only one look is under
// way at a time.
type sampler struct {
	d     *Daemon
	asked atomic.Uint64 // the highest number the core asked for
	wake  Wakeup
}

func newSampler(d *Daemon) *sampler { return &sampler{d: d, wake: d.host.Wakeup()} }

func (s *sampler) ask(number uint64) {
	s.asked.Store(max(number, s.asked.Load()))
	s.wake.Ring()
}

// run also reads what the jobs use, from time to time, however often the core
// asks for looks.
func (s *sampler) run(ctx context.Context) {
	measured := s.d.host.Now()
	whole, looked := time.Time{}, uint64(0) // when the last whole sample ended; the number of the last look
	for ctx.Err() == nil {
		number, now := s.asked.Load(), s.d.host.Now()
		interval := s.d.settings.Load().SampleInterval
		due := whole.Add(interval)
		// Those that somebody waits for go first, but not for ever.
		awaited := number != looked && !passed(due.Add(interval), now)
		if awaited || !passed(due, now) {
			s.d.inbox.post(s.look(ctx, s.d.opt.Source.Look, number))
		} else {
			s.d.inbox.post(s.look(ctx, s.d.opt.Source.Sample, number))
			whole = s.d.host.Now()
		}
		looked = number
		if now := s.d.host.Now(); passed(measured.Add(interval), now) {
			s.measure(ctx)
			measured = now
		}
		s.rest(ctx, number, whole)
	}
}

// rest waits for the core to ask for more than the number, or for the time of
// the next whole sample.
func (s *sampler) rest(ctx context.Context, number uint64, whole time.Time) {
	until := whole.Add(s.d.settings.Load().SampleInterval)
	for ctx.Err() == nil && s.asked.Load() <= number && !passed(until, s.d.host.Now()) {
		s.wake.Wait(until, ctx.Done())
	}
}

// A reading is one of Source's.
type reading func(context.Context) (gpu.Snapshot, error)

// look takes one sample by read. What cannot be asked is unknown, which is a sample too.
func (s *sampler) look(ctx context.Context, read reading, number uint64) core.Event {
	began := s.d.host.Now()
	snap, err := read(ctx)
	s.d.opt.Tally.Sample(s.d.host.Now().Sub(began), err != nil || snap.Problem != gpu.ProblemNone)
	if err != nil {
		snap = gpu.Snapshot{Problem: gpu.ProblemStale, Detail: err.Error()}
	}
	ev := core.Sampled{Number: number, Snap: snap, Jobs: map[int]job.ID{}, Persons: map[int]gpus.Person{}}
	for _, dev := range snap.Devices {
		for _, p := range dev.Processes {
			if id, ok := units.ParseName(p.Unit); ok {
				ev.Jobs[p.PID] = job.ID(id)
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

// measure reads what the running jobs have used so far.
func (s *sampler) measure(ctx context.Context) {
	groups := map[job.ID]string{}
	err := s.d.inbox.ask(ctx, func(c *core.Core, now time.Time) {
		for _, j := range c.Active() {
			groups[j.ID] = controlGroup(s.d.opt.Scope, &j)
		}
	})
	if err != nil || len(groups) == 0 || s.d.opt.Meter == nil {
		return
	}
	var m core.Measured
	for id, group := range groups {
		if used, ok := s.d.opt.Meter(group); ok {
			m.Usage = append(m.Usage, core.Usage{Job: id, HostUse: used})
		}
	}
	s.d.inbox.post(m)
}
