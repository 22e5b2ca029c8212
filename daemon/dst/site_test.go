package dst

import (
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon"
	"github.com/gpusched/gpusched/daemon/core/site"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
	"github.com/gpusched/gpusched/gpu"
)

const (
	hostMem  = 64 * gib
	hostCPUs = 16
)

// slack is the number of bytes that a share of a GPU's memory may lack.
const slack = gib / 2

// settings returns the site's settings. Only some seeds have budgets, rules about idleness, quotas
// and limits of bytes, so that different seeds have different combinations of these.
func (w *World) settings() daemon.Settings {
	d := w.roll("site")
	s := daemon.Settings{
		Policy: site.Policy{
			StartsInFlight: 4, HostMemBytes: hostMem, HostCPUs: hostCPUs, GPUCPUs: 12,
			DefaultGrace: 30 * time.Second, DefaultRequeue: true, MaxRetries: 10, DefaultBackoff: 5 * time.Second,
			Sched: sched.Policy{HalfLife: 7 * 24 * time.Hour, GuardAfter: 7 * 24 * time.Hour, GuardPercent: 50,
				ReservationDepth: 1, Patience: sched.DefaultPatience, Slice: 5 * time.Minute},
			CleaningTimeout: 30 * time.Second, MemSlackBytes: slack, StaleAfter: time.Minute, FreshFor: time.Second,
			Xids: gpu.DefaultXids(), LostAfter: 10 * time.Second,
			Usage: drawWatch(d), Quotas: drawQuotas(d), MaxBytes: pick[int64](d, 0, 0, 40<<10),
		},
		SampleInterval: 15 * time.Second, TasksMax: 1000,
	}
	s.Policy.MaxSuspend = pick(d, 0, 10*time.Minute, time.Hour)
	s.Policy.Strays = pick(d, site.EndStrays, site.EndStrays, site.KeepStrays, site.TellStrays)
	s.Policy.MaxForeignBytes = pick[int64](d, 0, 2*gib, 2*gib)
	of := w.roll("strangers")
	s.Policy.Strangers = pick(of, site.ShowStrangers, site.TellStrangers, site.EndStrangers, site.EndStrangers)
	s.Policy.StrangersAfter, s.Policy.FirstUID = of.between(10*time.Second, 5*time.Minute), 1000
	if m := w.roll("lend"); m.chance(40) {
		s.Policy.DefaultMem = func(int, int) int64 { return 10 * gib }
		s.Policy.MemReturn = site.MemReturn{Percent: 20, After: m.between(time.Second, 2*time.Minute)}
	}
	if w.isCrowded() {
		s.Policy.StartsInFlight = 1
	}
	if p := w.roll("park"); w.isParking() {
		s.Policy.Park = site.ParkPolicy{Allow: true, Preempt: p.chance(60), MaxBytes: pick[int64](p, 0, 0, 20*gib, 40*gib)}
		if p.chance(40) {
			s.Policy.Usage.Idle = site.WarnAndPark
		}
		if s.Policy.Park.Preempt {
			s.Policy.Sched.Slice = p.between(5*time.Second, 2*time.Minute)
		}
	}
	if d.chance(30) { // a short half-life, so that use both counts and decays within the day
		s.Policy.Sched.HalfLife = 20 * time.Minute
		s.Policy.Quotas.Default.GPUHours = 1
	}
	return s
}

// isParking reports whether the site lets jobs be parked. Jobs last longer there.
func (w *World) isParking() bool {
	return slices.ContainsFunc(w.plan.Entries, func(e Entry) bool { return e.Kind == park }) || w.roll("parking").chance(10)
}

// isCrowded reports whether the site starts one unit at a time, so that other starts must wait.
func (w *World) isCrowded() bool { return w.roll("crowded").chance(25) }

func drawWatch(d *dice) site.UsagePolicy {
	return site.UsagePolicy{
		Memory: pick(d, site.Ignore, site.Warn, site.WarnAndStop, site.WarnAndStop), Tolerance: int64(d.n(3)) * gib,
		MemoryGrace: d.between(0, 20*time.Second),
		Idle:        pick(d, site.Ignore, site.Ignore, site.Warn, site.WarnAndStop),
		IdleAfter:   d.between(10*time.Second, time.Minute), IdleGrace: d.between(0, time.Minute),
	}
}

// groupsOf is daemon.Options.Groups. Some users are found to be in groups only minutes after the
// run began.
func (w *World) groupsOf(uid int, _ job.GIDs, _ bool) (in []string) {
	for _, name := range []string{"class", "lab"} {
		d := w.roll("member of "+name, uint64(uid))
		if d.chance(20) && w.Elapsed > d.between(0, 10*time.Minute) {
			in = append(in, name)
		}
	}
	return in
}

// drawQuotas draws quotas. Each of them is large enough for any single job.
func drawQuotas(d *dice) job.Quotas {
	if d.chance(60) {
		return job.Quotas{}
	}
	q := func() job.Quota {
		return job.Quota{
			Mem: job.Part{Amount: pick[int64](d, 0, 25*gib)}, CPUs: job.Part{Amount: pick[int64](d, 0, 12)},
			GPUMilli: pick(d, 0, 3000, 4000), Running: d.n(4), Queued: pick(d, 0, 2, 5, 10),
		}
	}
	return job.Quotas{Default: q(), Users: map[string]job.Quota{"alice": q()},
		Groups: map[string]job.Quota{"lab": q(), "class": q()}}
}
