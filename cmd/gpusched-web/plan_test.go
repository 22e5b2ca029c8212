package main

import (
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
)

// Parts of a GPU lie beside each other, and no two over each other.
func TestLanes(t *testing.T) {
	span := func(milli, from, until int) api.Span {
		s := api.Span{Milli: milli, From: noon.Add(time.Duration(from) * time.Minute)}
		if until > 0 {
			s.Until = noon.Add(time.Duration(until) * time.Minute)
		}
		return s
	}
	for name, tt := range map[string]struct {
		spans []api.Span
		want  []float64
	}{
		"whole, one after the other": {[]api.Span{span(1000, 0, 10), span(1000, 10, 20)}, []float64{0, 0}},
		"two halves":                 {[]api.Span{span(500, 0, 0), span(500, 5, 20)}, []float64{0, 0.5}},
		"into the gap":               {[]api.Span{span(250, 0, 10), span(500, 0, 60), span(250, 10, 30)}, []float64{0, 0.25, 0}},
		"above both":                 {[]api.Span{span(250, 0, 60), span(500, 0, 60), span(250, 10, 30)}, []float64{0, 0.25, 0.75}},
		"more than there is":         {[]api.Span{span(600, 0, 10), span(600, 0, 10)}, []float64{0, 0.4}},
		"whole beside a part":        {[]api.Span{span(1000, 0, 10), span(100, 0, 10)}, []float64{0, 0}},
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
	if planOf(nil) != nil || planOf(&api.PlanReply{At: noon, Until: at(12)}) != nil || planOf(&api.PlanReply{GPUs: make([]api.GPUPlan, 1)}) != nil {
		t.Error("there is a drawing of nothing")
	}
	v := planOf(&api.PlanReply{At: noon, Until: at(12), Waiting: 5, Planned: 2, GPUs: []api.GPUPlan{{Index: 3, Spans: []api.Span{
		{Kind: "running", Job: 1, Called: "1", User: "alice", Milli: 1000, From: at(-5), Until: at(6), LateUntil: at(48)},
		{Kind: "drained", Milli: 1000, From: at(6)},
	}}}})
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
