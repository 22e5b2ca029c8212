package sched

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/predict"
)

// printCourse prints the jobs with their GPUs and times, in minutes after noon. "9 on 0 -60..10/20"
// means that job 9 is on GPU 0 from -60 to 10, and that four such jobs in five have ended by 20.
// "?" means unknown.
func (sc *scene) printCourse(estimated func(job.ID) *predict.Estimate, far time.Duration) string {
	f := sc.p.Forecast(&sc.s, sc.q, estimated)
	stays, until, done := f.Course(func() bool { return true }, far)
	if !done || until > noon.Add(far) {
		sc.Errorf("the course: done %t, until %v", done, until)
	}
	again, _, _ := f.Course(func() bool { return true }, far)
	if !slices.EqualFunc(stays, again, func(a, b Stay) bool { return a.Job == b.Job && a.From == b.From && a.Until == b.Until }) {
		sc.Error("a second question gets another answer")
	}
	minutes := func(at Instant) string {
		if at == Never {
			return "?"
		}
		return fmt.Sprint(int64(time.Duration(at-noon) / time.Minute))
	}
	var list []string
	for _, s := range stays {
		end := minutes(s.Until)
		if !s.Known {
			end = "?"
		}
		list = append(list, fmt.Sprintf("%d on %s %s..%s/%s", s.Job, name(s.Grants), minutes(s.From), end, minutes(s.Late)))
	}
	return strings.Join(list, ", ")
}

// TestCourse predicts the stays of running jobs, and of the jobs that follow them, in several
// scenes. The prediction follows the planner's own rules.
func TestCourse(t *testing.T) {
	for what, test := range map[string]struct {
		gpus int
		set  func(sc *scene)
		want string
	}{
		"one after the other, short ones pass": {2, func(sc *scene) {
			sc.runJob(101, 10*minute, onGPUs(0)...)
			sc.runJob(102, 30*minute, onGPUs(1)...)
			sc.queueJob(1, 2000)
			sc.queueJob(2, 1000, expected(512*time.Second))
		}, "101 on 0 -60..10/10, 102 on 1 -60..30/30, 2 on 0 10..18/18, 1 on 0+1 30..90/90"},
		"parts share": {1, func(sc *scene) {
			sc.runJob(101, 10*minute, Grant{GPU: 0, Milli: 500})
			sc.queueJob(1, 500)
			sc.queueJob(2, 500)
		}, "101 on 500m of 0 -60..10/10, 1 on 500m of 0 0..60/60, 2 on 500m of 0 10..70/70"},
		"an array, as many at once as may": {3, func(sc *scene) {
			sc.queueJob(1, 1000, func(w *Waiting) { w.Count, w.Throttle = 3, atMost(2) })
		}, "1 on 0 0..60/60, 1 on 1 0..60/60, 1 on 0 60..120/120"},
		"a preempted job comes back": {1, func(sc *scene) {
			sc.s.Policy.Slice = 30 * minute
			r := sc.runJob(101, 60*minute, onGPUs(0)...)
			r.Preemptible, r.Request = true, &job.Request{GPUMilli: 1000, Preemptible: true}
			sc.queueJob(1, 1000, asks(func(r *job.Request) { r.Priority.Class = job.High }))
		}, "101 on 0 -60..0/0, 1 on 0 0..60/60, 101 on 0 60..120/120"},
		"a GPU that comes back": {1, func(sc *scene) {
			sc.s.GPUs[0].State, sc.s.GPUs[0].ReadyAt = Paused, noon.Add(20*minute)
			sc.queueJob(1, 1000)
		}, "1 on 0 20..80/80"},
		"a load of which nobody knows": {1, func(sc *scene) {
			sc.s.Policy.MaxLoadPercent, sc.s.GPUs[0].LoadPercent = 50, 60
			sc.queueJob(1, 1000)
		}, ""},
		"jobs without a GPU have none": {1, func(sc *scene) { sc.queueJob(1, 0) }, ""},
		"not beyond what is asked": {1, func(sc *scene) {
			for id := range 5 {
				sc.queueJob(job.ID(id+1), 1000, expected(10*time.Hour))
			}
		}, "1 on 0 0..600/600, 2 on 0 600..1200/1200, 3 on 0 1200..1800/1800"},
	} {
		sc := newScene(t, test.gpus)
		test.set(sc)
		if got := sc.printCourse(nil, 24*time.Hour); got != test.want {
			t.Errorf("%s:\n got %s\nwant %s", what, got, test.want)
		}
	}
}

// If the end or the start of a job can't be known, the course says so.
func TestCourseOfTheUnknown(t *testing.T) {
	sc := newScene(t, 2)
	unknown, wide := &predict.Estimate{Median: time.Minute, Spread: 2}, knownEstimate(2*time.Hour, 1)
	sc.runJob(101, 1*minute, onGPUs(0)...).Request = &job.Request{GPUMilli: 1000}
	sc.runJob(102, 60*minute, onGPUs(1)...).Request = &job.Request{GPUMilli: 1000}
	sc.queueJob(1, 1000, asks(func(r *job.Request) { r.TimeLimit = job.Span(time.Hour) }))
	sc.queueJob(2, 2000)
	estimated := func(id job.ID) *predict.Estimate {
		if id == 102 {
			return &wide
		}
		return unknown
	}
	const want = "101 on 0 -60..?/?, 102 on 1 -60..60/276, 1 on 1 60..?/120"
	if got := sc.printCourse(estimated, 24*time.Hour); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

// The record of a course ends early if an array has very many tasks. It also ends when its caller
// stops asking.
func TestCourseIsBounded(t *testing.T) {
	sc := newScene(t, 64)
	sc.queueJob(1, 1000, expected(time.Minute), func(w *Waiting) { w.Count = 100_000 })
	f := sc.p.Forecast(&sc.s, sc.q, nil)
	stays, until, _ := f.Course(func() bool { return true }, 7*24*time.Hour)
	if len(stays) > maxStays || len(stays) < maxStays/2 || until > noon.Add(2*time.Hour) || until <= noon {
		t.Errorf("%d stays until +%s", len(stays), time.Duration(until-noon))
	}
	if _, _, done := sc.p.Forecast(&sc.s, sc.q, nil).Course(func() bool { return false }, time.Hour); done {
		t.Error("the course is made though nobody asks any more")
	}
}
