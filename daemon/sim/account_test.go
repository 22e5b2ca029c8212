package sim

import (
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

// attempt returns a job as the core would start it.
func attempt(id job.ID, number, milli int, gpus ...int) *job.Job {
	j := &job.Job{ID: id, Request: job.Request{GPUMilli: milli}, Attempt: &job.Attempt{Number: number}}
	for _, g := range gpus {
		r := job.Allocation{GPU: contract.GPU{Index: g}}
		if milli < job.WholeGPU {
			r.Milli = milli
		}
		j.Attempt.GPUs = append(j.Attempt.GPUs, r)
	}
	return j
}

// A stopped job keeps its progress, and every later start costs extra (invariant 3).
func TestInterruptions(t *testing.T) {
	tr := newTrace(time.Unix(0, 0), []Job{{Run: 100 * time.Second, GPUMilli: 1000}})
	e := newEngine(tr, Options{GPUs: 1, GPUMemBytes: 1, SwitchCost: time.Minute})
	launch := func(number int, wantEnd time.Duration) {
		t.Helper()
		if _, err := e.launch(attempt(1, number, 1000, 0)); err != nil {
			t.Fatal(err)
		}
		if got := e.ends[len(e.ends)-1].at; got != wantEnd*time.Second {
			t.Fatalf("attempt %d will end at %s, want %ds", number, got, wantEnd)
		}
	}
	stopAt := func(at, left, extra time.Duration) {
		t.Helper()
		e.now = at * time.Second
		e.stopUnit(core.Stop{Job: 1})
		if e.runs[0].left != left*time.Second || e.ledger.entries[0].extra != extra*time.Second {
			t.Fatalf("at %ds %s is left, %s extra", at, e.runs[0].left, e.ledger.entries[0].extra)
		}
	}
	launch(1, 100)
	stopAt(40, 60, 0)
	e.now = 50 * time.Second
	launch(2, 170)
	stopAt(80, 60, 30) // the job still ran its extra time, so it made no progress
	launch(3, 200)
	stopAt(150, 50, 90)
	launch(4, 260)
	if e.now = 260 * time.Second; e.stopUnit(core.Stop{Job: 1, InspectFirst: true}).(core.Stopped).Before.Phase != core.Exited || e.runs[0].left > 0 {
		t.Error("a command that ends as it is stopped has not ended by itself")
	}
	if e.ledger.entries[0].preemptions != 3 || e.machine.milli != 0 {
		t.Errorf("%+v, %d milli in use", e.ledger.entries[0], e.machine.milli)
	}
}

// Invariant 1: the machine checks every start.
func TestMachineRefuses(t *testing.T) {
	big := attempt(9, 1, 1000, 1)
	big.Request.GPUMemBytes = 200
	for name, c := range map[string]struct {
		job  *job.Job
		want string
	}{
		"taken":              {attempt(9, 1, 1000, 0), "too much for GPU 0"},
		"half taken":         {attempt(9, 1, 500, 2), "too much for GPU 2"},
		"too few":            {attempt(9, 1, 2000, 1), "asks 2000 milli-GPUs and gets 1000"},
		"the same one twice": {attempt(9, 1, 2000, 1, 1), "gets GPUs"},
		"not there":          {attempt(9, 1, 1000, 7), "gets GPUs"},
		"no memory":          {big, "too much for GPU 1"},
		"twice":              {attempt(1, 2, 1000, 1), "while its unit exists"},
	} {
		m := newMachine(3, 100)
		for _, j := range []*job.Job{attempt(1, 1, 1000, 0), attempt(2, 1, 600, 2)} {
			if _, err := m.start(j, 0, 0); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := m.start(c.job, c.job.Request.GPUMemBytes, 0); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// If the two accounts do not agree, that is an error (invariants 2 to 4).
func TestAudit(t *testing.T) {
	sound := func() *ledger {
		l := newLedger([]Job{{Run: 10 * time.Second, GPUMilli: 1000}}, 1)
		l.entries[0] = entry{entered: 0, waited: 5 * time.Second, ran: 10 * time.Second, end: 15 * time.Second, gpu: 10e9, state: job.Completed}
		l.used = 10e9
		return l
	}
	if err := sound().audit(); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*ledger){
		"never completed":    func(l *ledger) { l.entries[0].state = job.Running },
		"not the 10s of its": func(l *ledger) { l.entries[0].ran++ },
		"waited":             func(l *ledger) { l.entries[0].waited++ },
		"used":               func(l *ledger) { l.entries[0].gpu++ },
		"the machine saw":    func(l *ledger) { l.used++ },
	} {
		l := sound()
		spoil(l)
		if err := l.audit(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Bounds match values calculated by hand. An outcome below its bounds is an error (invariant 6).
func TestLowerBounds(t *testing.T) {
	s := time.Second
	for name, c := range map[string]struct {
		jobs           []Job
		gpus           int
		makespan, mean time.Duration
	}{
		"the short one goes first":   {[]Job{{Run: 10 * s, GPUMilli: 1000}, {Submit: s, Run: 2 * s, GPUMilli: 1000}}, 1, 12 * s, 7 * s},
		"nobody is faster than runs": {[]Job{{Run: 10 * s, GPUMilli: 1000}, {Submit: s, Run: 2 * s, GPUMilli: 1000}}, 2, 10 * s, 6 * s},
		"late work":                  {[]Job{{Run: s, GPUMilli: 1000}, {Submit: 100 * s, Run: 4 * s, GPUMilli: 2000}, {Submit: 100 * s, Run: 4 * s, GPUMilli: 2000}}, 2, 108 * s, (s/2 + 4*s + 8*s) / 3},
	} {
		if makespan, mean := lowerBounds(c.jobs, c.gpus); makespan != c.makespan || (mean-c.mean).Abs() > time.Microsecond {
			t.Errorf("%s: %s and %s, want %s and %s", name, makespan, mean, c.makespan, c.mean)
		}
	}
	for _, m := range []Metrics{{Makespan: 9, MakespanBound: 10}, {MeanCompletion: 9, CompletionBound: 10}, {Utilisation: 1.1}} {
		if m.checkPlausible() == nil {
			t.Errorf("%+v is taken for plausible", m)
		}
	}
}

// A stop is in vain if the job for which it was made starts long after its GPUs are free.
func TestStopsInVain(t *testing.T) {
	s := time.Second
	for name, c := range map[string]struct {
		left, again, starts time.Duration // of the last job that was stopped, and of the job that asked
		want                int
	}{
		"at once":           {15 * s, 90 * s, 15 * s, 0},
		"a minute later":    {15 * s, 90 * s, 75 * s, 0},
		"more than that":    {15 * s, 90 * s, 76 * s, 2},
		"on other GPUs":     {15 * s, 90 * s, 12 * s, 0},
		"after both go on":  {15 * s, 20 * s, 900 * s, 2},
		"the last is late":  {90 * s, 200 * s, 91 * s, 0},
		"and goes on first": {90 * s, 91 * s, 300 * s, 2},
	} {
		jobs := []JobOutcome{
			{Held: []Span{{0, 10 * s}, {c.again, 999 * s}}, Room: []Room{{2, 10 * s}}},
			{Held: []Span{{0, c.left}, {c.again, 999 * s}}, Room: []Room{{2, 10 * s}}},
			{Held: []Span{{0, 5 * s}, {c.starts, 999 * s}}},
		}
		if got := stopsInVain(jobs); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// The mean includes every figure of Metrics.
func TestFigureList(t *testing.T) {
	var a, b Metrics
	for _, f := range figures(&a) {
		*f = 1
	}
	for _, f := range figures(&b) {
		*f = 3
	}
	a.Jobs, b.Jobs = 10, 20
	m := Mean([]*Outcome{{Metrics: a}, {Metrics: b}})
	for i, f := range figures(&m) {
		if *f != 2 {
			t.Errorf("figure %d has the mean %v", i, *f)
		}
	}
	if n := len(figures(&m)); n != 20 || m.Jobs != 15 {
		t.Errorf("%d figures, %d jobs", n, m.Jobs)
	}
}

// Each kind of prediction matches its description, and is the same for the same seed.
func TestPredictions(t *testing.T) {
	jobs := make([]Job, 1000)
	for i := range jobs {
		jobs[i].Run = time.Hour
	}
	if drawPredictions(Learned, jobs, 1) != nil {
		t.Error("the core gets predictions that it should learn")
	}
	for _, told := range drawPredictions(Oracle, jobs, 1) {
		if told != time.Hour {
			t.Fatalf("the oracle says %s", told)
		}
	}
	above := 0
	for i, told := range drawPredictions(Noisy, jobs, 1) {
		if told != drawPredictions(Noisy, jobs[:i+1], 1)[i] {
			t.Fatal("the same seed gives other predictions")
		}
		if told > time.Hour {
			above++
		}
		if i == 50 {
			break
		}
	}
	if above < 10 || above > 41 {
		t.Errorf("%d of 51 noisy predictions are too long", above)
	}
	for _, told := range drawPredictions(UserLimit, jobs, 1) {
		if told <= time.Hour || told > limitMax+time.Second {
			t.Fatalf("a person asks %s for an hour", told)
		}
	}
	told := predictor([]time.Duration{5})
	if told(1) != 5 || told(0) != 0 || told(2) != 0 {
		t.Error("a job gets another's prediction")
	}
}
