package estimates

import (
	"time"

	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
)

// LearnMost notes what an attempt took that is over, however it ended.
func (b *Book) LearnMost(l *tracked.Job, now time.Time) {
	took := b.took(l, now)
	if took.Run < ShortestLesson || b.policy.Predict != nil {
		return
	}
	for _, p := range b.predictor.ObserveMost(l.Kind(), took, now) {
		b.record(job.Record{Prediction: &p})
	}
}

// took is what a job has taken until now, in its current attempt or the last.
func (b *Book) took(l *tracked.Job, now time.Time) sched.Most {
	m := sched.Most{Run: b.ran(l, now)}
	for _, u := range l.CurrentUses() {
		m.GPUMem = max(m.GPUMem, u.PeakBytes)
	}
	if a := l.Attempt; a != nil {
		m.HostMem = a.PeakMemBytes
	}
	return m
}

// Most is the most that runs of a job's command took, those that go on and its own earlier
// attempts among them.
func (b *Book) Most(l *tracked.Job, now time.Time) sched.Most {
	kind := l.Kind()
	m := b.predictor.Most(kind).Max(sched.Most{Run: l.Served})
	for _, id := range b.jobs.ActiveIDs() {
		o := b.jobs.Active(id)
		if k := o.Kind(); k.UID == kind.UID && k.Shape == kind.Shape && k.Shape != "" {
			m = m.Max(b.took(o, now))
		}
	}
	return m
}

// KnowsRuns reports whether so many runs of a job's command have ended that they tell what it needs.
func (b *Book) KnowsRuns(l *tracked.Job) bool {
	return b.policy.Predict != nil || l.Kind().Shape != "" && b.Of(l).Ended >= TriedRuns
}

// LearnMemory learns from an attempt that is over how much GPU memory its command takes, and
// returns the most that it took.
func (b *Book) LearnMemory(l *tracked.Job, ended bool, now time.Time) (peak int64) {
	for _, u := range l.CurrentUses() {
		peak = max(peak, u.PeakBytes)
	}
	if p := b.predictor.ObserveMemory(l.Kind(), peak, ended, now); p != nil {
		b.record(job.Record{Prediction: p})
	}
	return peak
}
