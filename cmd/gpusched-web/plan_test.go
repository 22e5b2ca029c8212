package main

import (
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// Parts of a GPU are drawn next to each other and do not overlap.
func TestLanes(t *testing.T) {
	span := func(milli, from, until int) job.Stay {
		s := job.Stay{Milli: milli, From: noon.Add(time.Duration(from) * time.Minute)}
		if until > 0 {
			s.Until = noon.Add(time.Duration(until) * time.Minute)
		}
		return s
	}
	for name, tt := range map[string]struct {
		spans []job.Stay
		want  []float64
	}{
		"whole, one after the other": {[]job.Stay{span(1000, 0, 10), span(1000, 10, 20)}, []float64{0, 0}},
		"two halves":                 {[]job.Stay{span(500, 0, 0), span(500, 5, 20)}, []float64{0, 0.5}},
		"into the gap":               {[]job.Stay{span(250, 0, 10), span(500, 0, 60), span(250, 10, 30)}, []float64{0, 0.25, 0}},
		"above both":                 {[]job.Stay{span(250, 0, 60), span(500, 0, 60), span(250, 10, 30)}, []float64{0, 0.25, 0.75}},
		"more than there is":         {[]job.Stay{span(600, 0, 10), span(600, 0, 10)}, []float64{0, 0.4}},
		"whole beside a part":        {[]job.Stay{span(1000, 0, 10), span(100, 0, 10)}, []float64{0, 0}},
	} {
		got := lanesOf(tt.spans)
		for i := range got {
			if d := got[i] - tt.want[i]; d > 1e-9 || d < -1e-9 {
				t.Errorf("%s: got %v, want %v", name, got, tt.want)
				break
			}
		}
	}
}

func TestPlanOf(t *testing.T) {
	at := func(h int) time.Time { return noon.Add(time.Duration(h) * time.Hour) }
	if planOf(nil) != nil || planOf(&api.PlanReply{Course: job.Course{At: noon, Until: at(12)}}) != nil || planOf(&api.PlanReply{Course: job.Course{GPUs: make([]job.GPUCourse, 1)}}) != nil {
		t.Error("nothing is drawn as a plan")
	}
	v := planOf(&api.PlanReply{Course: job.Course{At: noon, Until: at(12), Waiting: 5, GPUs: []job.GPUCourse{{Index: 3, Stays: []job.Stay{
		{Kind: "running", Job: 1, Called: "1", User: "alice", Milli: 1000, From: at(-5), Until: at(6), Late: at(48)},
		{Kind: "drained", Milli: 1000, From: at(6)},
	}}}}, Planned: 2})
	run, drained := v.Rows[0].Spans[0], v.Rows[0].Spans[1]
	if half := (planWidth - planLeft) / 2; run.X != planLeft || run.Width != half || run.Late != half || run.Open || run.Label != "1 alice" {
		t.Errorf("the running job is drawn as %+v", run)
	}
	if drained.X+drained.Width != planWidth || !drained.Open || drained.Label != "drained" || drained.Late != 0 {
		t.Errorf("the drain is drawn as %+v", drained)
	}
	if v.More != 3 || len(v.Ticks) != 11 || !v.Ticks[0].At.Equal(at(1)) {
		t.Errorf("%+v", v)
	}
}

// Labels do not overlap. Spans without a job have their own lane and cover no other span.
func TestLabelsDoNotOverlap(t *testing.T) {
	at := func(h int) time.Time { return noon.Add(time.Duration(h) * time.Hour) }
	run := func(called, user string, milli, from, until int) job.Stay {
		s := job.Stay{Kind: "running", Called: called, User: user, Milli: milli, From: at(from), Late: at(12)}
		if until > 0 {
			s.Until = at(until)
		}
		return s
	}
	kept := job.Stay{Kind: "reserved", Milli: 1000, From: at(1), Until: at(3), Sentence: "reserved for alice", For: &job.People{Users: []string{"alice"}}}
	for name, spans := range map[string][]job.Stay{
		"half of a GPU that is draining":    {run("57", "alice", 500, -1, 4), {Kind: "drained", Milli: 1000, From: at(0)}},
		"a reservation over a running job":  {run("57", "bob", 1000, -1, 8), kept},
		"one without an end":                {run("57", "bob", 1000, -1, 0), kept},
		"a drain and two reservations":      {kept, kept, {Kind: "drained", Milli: 1000, From: at(0), Until: at(6)}},
		"more jobs than fit, by their ends": {run("57", "alice", 1000, -1, 6), run("58", "bob", 1000, -1, 6), run("59", "bob", 250, 0, 6)},
	} {
		v := planOf(&api.PlanReply{Course: job.Course{At: noon, Until: at(12), GPUs: []job.GPUCourse{{Stays: spans}, {Index: 1}}}})
		row := v.Rows[0]
		for i, a := range row.Spans {
			if a.Y < row.Y || a.Y+a.Height > row.Y+row.Height || row.Y+row.Height > v.Rows[1].Y {
				t.Errorf("%s: %+v is outside of its row %+v", name, a, row)
			}
			for _, b := range row.Spans[:i] {
				beside := a.X >= b.X+b.Width || b.X >= a.X+a.Width || a.Y >= b.Y+b.Height || b.Y >= a.Y+a.Height
				if !beside && (a.Class != "running" || b.Class != "running") {
					t.Errorf("%s: %s hides %s", name, a.Class, b.Class)
				}
				if !beside && a.Label != "" && b.Label != "" {
					t.Errorf("%s: %q lies over %q", name, a.Label, b.Label)
				}
			}
		}
	}
	v := planOf(&api.PlanReply{Course: job.Course{At: noon, Until: at(12), GPUs: []job.GPUCourse{{Stays: []job.Stay{
		run("57", "bob", 500, -1, 0), run("58", "alice", 500, -1, 0), kept,
	}}}}})
	if len(v.Sitters) != 1 || v.Sitters[0] != "Job 57 of bob may still be running on GPU 0 when the GPU is reserved for alice. The job will not be stopped." {
		t.Errorf("%q", v.Sitters)
	}
}
