package sched

import (
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// In TestPlannedEnd the machine reboots in an hour. If a job may still run at that time, it waits
// even if GPUs are free. The planner judges that by the job's limit, by the run times of similar
// jobs, or else by an assumed run time of a day.
func TestPlannedEnd(t *testing.T) {
	limit := func(d time.Duration) func(*Waiting) { return asks(func(r *job.Request) { r.TimeLimit = job.Span(d) }) }
	learned := func(d time.Duration) func(*Waiting) {
		return func(w *Waiting) { w.Known, w.Expected, w.Late = true, d/2, d }
	}
	returns := func(again bool) func(*Waiting) {
		return asks(func(r *job.Request) { r.Preemptible, r.Requeue = true, new(again) })
	}
	for name, c := range map[string]struct {
		in     time.Duration
		milli  int
		change func(*Waiting)
		starts bool
	}{
		"ends in time":                    {time.Hour, 1000, limit(time.Hour), true},
		"could run into it":               {time.Hour, 1000, limit(time.Hour + 1), false},
		"has no GPU":                      {time.Hour, 0, limit(time.Hour + 1), false},
		"has no limit":                    {time.Hour, 1000, func(*Waiting) {}, false},
		"has none, a day before":          {24 * time.Hour, 1000, func(*Waiting) {}, true},
		"similar jobs end in time":        {time.Hour, 1000, learned(17 * minute), true},
		"one in five similar jobs do not": {time.Hour, 1000, learned(70 * minute), false},
		"is stopped and queued again":     {time.Hour, 1000, returns(true), true},
		"is not queued again":             {time.Hour, 1000, returns(false), false},
		"the moment has come":             {0, 1000, limit(minute), false},
		"it is over":                      {-time.Hour, 1000, func(*Waiting) {}, true},
	} {
		t.Run(name, func(t *testing.T) {
			sc := newScene(t, 1)
			sc.s.End = AdvanceReservation{From: noon.Add(c.in), To: noon.Add(c.in + 10*minute), Detail: job.Text("it reboots")}
			sc.queueJob(1, c.milli, c.change)
			if got := len(sc.p.Plan(&sc.s, sc.q).Place) == 1; got != c.starts {
				t.Errorf("starts: %t", got)
			}
			if got, want := sc.printReasons(sc.lastJob(c.milli, c.change)), "planned-shutdown, it reboots"; !c.starts && got != want {
				t.Errorf("waits for %q, want %q", got, want)
			}
		})
	}
}

// Jobs that can't end in time keep no GPUs from other jobs, and start once the machine is back.
func TestPlannedEndIsFilled(t *testing.T) {
	sc := newScene(t, 1)
	sc.s.End = AdvanceReservation{From: noon.Add(time.Hour), To: noon.Add(70 * minute)}
	sc.queueJob(1, 1000, asks(func(r *job.Request) { r.TimeLimit = job.Span(2 * time.Hour) }))
	sc.queueJob(2, 1000, expected(512*time.Second), asks(func(r *job.Request) { r.TimeLimit = job.Span(512 * time.Second) }))
	sc.expect("start 2 on 0")
	if got, want := sc.printForecast(), "1 at +1h10m0s, 2 at +0s"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
