package sched

import (
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// inLanes returns a function that puts a waiting job into lanes with a limit.
func inLanes(limit int, lanes ...*Lane) func(*Waiting) {
	return func(w *Waiting) {
		for _, l := range lanes {
			w.Throttle = &Throttle{limit, l, w.Throttle}
		}
	}
}

// A job starts only while all of its lanes run fewer jobs than the job's own limits there.
func TestLanes(t *testing.T) {
	a, b := &Lane{}, &Lane{}
	for name, c := range map[string]struct {
		jobs []func(*Waiting)
		want string
	}{
		"one":              {[]func(*Waiting){inLanes(1, a), inLanes(1, a)}, "start 1 on 0"},
		"two of three":     {[]func(*Waiting){inLanes(2, a), inLanes(2, a), inLanes(2, a)}, "start 1 on 0, start 2 on 1"},
		"each its own":     {[]func(*Waiting){inLanes(3, a), inLanes(1, a), inLanes(2, a)}, "start 1 on 0, start 3 on 1"},
		"different lanes":  {[]func(*Waiting){inLanes(1, a), inLanes(1, b)}, "start 1 on 0, start 2 on 1"},
		"the second, full": {[]func(*Waiting){inLanes(1, b), inLanes(1, a, b), inLanes(1, a)}, "start 1 on 0, start 3 on 1"},
	} {
		t.Run(name, func(t *testing.T) {
			sc := newScene(t, 4)
			for i, in := range c.jobs {
				sc.queueJob(job.ID(i+1), 1000, in)
			}
			sc.expect(c.want)
			sc.expect(c.want) // a plan does not change the lanes
		})
	}
}

// A job with a reservation keeps its place in its lane from jobs that do not end before. It may preempt others all the same.
func TestReservedKeepsItsLane(t *testing.T) {
	sc := newScene(t, 2)
	r := sc.runJob(90, time.Hour, onGPUs(0)...)
	lane := &Lane{}
	sc.queueJob(1, 2000, inLanes(1, lane), asks(func(r *job.Request) { r.Priority.Class = job.High }))
	sc.queueJob(2, 1000, inLanes(1, lane), expected(2*time.Hour))
	sc.expect("keep 0+1 for 1 at +1h0m0s")
	sc.queueJob(3, 1000, inLanes(1, lane), expected(30*time.Minute))
	sc.expect("start 3 on 1, keep 0+1 for 1 at +1h0m0s")
	sc.q.Remove(3)
	w := sc.q.entries[2].waitingJob()
	w.Request = &job.Request{GPUMilli: 1000}
	if why := sc.p.Explain(&w); len(why) == 0 || why[0].Code != job.ReasonLaneKept || why[0].Job != 1 {
		t.Errorf("reasons: %+v", why)
	}
	r.Preemptible = true
	sc.expect("keep 0+1 for 1 at +1h0m0s, stop 90 for 1")
	lane.Running = 1
	sc.expect("wait")
}

// When a person's lane gets room, the waits of its jobs begin anew. The limit of a job says when
// that was. Waits in other lanes count.
func TestWaitInLane(t *testing.T) {
	own, site := OwnLane(), Lane{Running: 3}
	(&Throttle{Limit: 3, Lane: &own}).Count(3)
	for _, ago := range []Instant{ago(3 * time.Hour), ago(time.Minute)} {
		(&Throttle{Limit: 3, Lane: &own, Next: &Throttle{Limit: 3, Lane: &site}}).End(ago)
	}
	for name, c := range map[string]struct {
		lane   *Lane
		limit  int
		waited time.Duration
	}{
		"room for 120m": {&own, 3, 2 * time.Hour}, "room for a minute": {&own, 2, time.Minute}, "of the site": {&site, 2, 2 * time.Hour},
	} {
		th := &Throttle{Limit: c.limit, Lane: c.lane}
		if got := time.Duration(noon - th.Turn(ago(2*time.Hour))); got != c.waited {
			t.Errorf("%s: waited %s", name, got)
		}
	}
	sc := newScene(t, 1)
	sc.s.Policy.FIFO = false
	sc.queueJob(1, 1000, inLanes(2, &own), func(w *Waiting) { w.Since = ago(5 * time.Hour) })
	sc.queueJob(2, 1000, of(sc.user("bob")), func(w *Waiting) { w.Since = ago(time.Hour) })
	sc.expect("start 2 on 0, keep 0 for 1 at +1h8m16s")
}
