package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// Sizes of the plan in SVG units. The plan has a row per GPU; time runs to the right.
const (
	planWidth = 1000.0
	planLeft  = 60.0 // space for the row names
	planTop   = 24.0 // space for the times
	rowHeight = 26.0
	rowGap    = 4.0
	laneSize  = 16.0 // the lane below the jobs, for spans without a job
	charWidth = 9.0  // width of the widest character
)

// planHours is the period that the drawing of the plan covers.
const planHours = 12

// planView is the plan, ready for the template.
type planView struct {
	Width, Height float64
	Ticks         []tickView
	Rows          []rowView
	Closed        bool
	Sitters       []string
	More          int // number of waiting jobs that start later or at an unknown time
}

type tickView struct {
	X  float64
	At time.Time
}

type rowView struct {
	Index     int
	Y, Height float64
	Spans     []spanView
}

// A spanView is a rectangle. The field Late is the width to add, so that the rectangle reaches the
// time by which the span ends in 4 of 5 cases.
type spanView struct {
	X, Y, Width, Height float64
	Late                float64
	Class, Label, Title string
	From, Until         time.Time
	Open                bool // the end is unknown
}

// planOf draws a plan. It returns nil if there is nothing to draw.
func planOf(p *api.PlanReply) *planView {
	if p == nil || len(p.GPUs) == 0 || !p.Until.After(p.At) {
		return nil
	}
	v := &planView{Width: planWidth, Closed: p.Closed, More: p.Waiting - p.Planned}
	scale := func(at time.Time) float64 {
		part := float64(at.Sub(p.At)) / float64(p.Until.Sub(p.At))
		return tenth(planLeft + min(max(part, 0), 1)*(planWidth-planLeft))
	}
	step := tickStep(p.Until.Sub(p.At))
	for at := p.At.UTC().Truncate(step).Add(step); at.Before(p.Until); at = at.Add(step) {
		v.Ticks = append(v.Ticks, tickView{scale(at), at})
	}
	y := planTop
	for _, g := range p.GPUs {
		row := rowView{Index: g.Index, Y: y, Height: rowHeight}
		if slices.ContainsFunc(g.Stays, func(s job.Stay) bool { return s.Milli > 0 && s.Milli < job.WholeGPU }) {
			row.Height *= 2 // a quarter of a GPU then has room for a name
		}
		jobs, others := splitSpans(g.Stays)
		beside, under := lanesOf(jobs), stacked(others)
		for i, s := range slices.Concat(jobs, others) {
			top, height := row.Height, laneSize-1
			if i < len(jobs) {
				top, height = top*beside[i], max(top*float64(cmp.Or(s.Milli, job.WholeGPU))/job.WholeGPU, 3)
			} else {
				top += laneSize * float64(under[i-len(jobs)])
			}
			x, end := scale(s.From), scale(s.Until)
			if s.Until.IsZero() {
				end = planWidth
			}
			row.Spans = append(row.Spans, spanView{
				X: x, Width: max(tenth(end-x), 1), Late: max(tenth(scale(later(s.Until, s.Late))-end), 0),
				Y: y + top, Height: height,
				Class: string(s.Kind), Label: labelOf(s, end-x, height), Title: titleOf(s),
				From: s.From, Until: s.Until, Open: s.Until.IsZero(),
			})
		}
		dropLabels(row.Spans)
		v.Sitters = append(v.Sitters, jobsInTheWay(g.Index, jobs, others)...)
		if len(others) > 0 {
			row.Height += laneSize * float64(slices.Max(under)+1)
		}
		v.Rows = append(v.Rows, row)
		y += row.Height + rowGap
	}
	v.Height = y
	return v
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// tenth rounds to the precision of a drawing.
func tenth(x float64) float64 { return math.Round(10*x) / 10 }

// tickStep returns the time between two ticks. The axis then has at most twelve ticks.
func tickStep(all time.Duration) time.Duration {
	for _, step := range []time.Duration{
		5 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 6 * time.Hour, 12 * time.Hour,
	} {
		if all/step <= 12 {
			return step
		}
	}
	return 24 * time.Hour
}

// lanesOf returns the vertical position of each span within its GPU, from 0 to 1. Spans that share
// a time overlap only if together they need more than the GPU.
func lanesOf(spans []job.Stay) []float64 {
	lanes := make([]float64, len(spans))
	for i, s := range spans {
		if s.Milli == 0 || s.Milli >= job.WholeGPU {
			continue
		}
		var beside []int
		for k := range i {
			if overlap(spans[k], s) && spans[k].Milli < job.WholeGPU {
				beside = append(beside, k)
			}
		}
		slices.SortFunc(beside, func(a, b int) int { return cmp.Compare(lanes[a], lanes[b]) })
		at := 0.0
		for _, k := range beside {
			if at+part(s) <= lanes[k]+1e-9 {
				break
			}
			at = max(at, lanes[k]+part(spans[k]))
		}
		lanes[i] = min(at, 1-part(s))
	}
	return lanes
}

func part(s job.Stay) float64 { return float64(s.Milli) / job.WholeGPU }

// overlap reports whether two spans share a time. A span without an end never ends.
func overlap(a, b job.Stay) bool {
	return (a.Until.IsZero() || b.From.Before(a.Until)) && (b.Until.IsZero() || a.From.Before(b.Until))
}

// splitSpans separates the spans of jobs from the other spans.
func splitSpans(spans []job.Stay) (jobs, others []job.Stay) {
	for _, s := range spans {
		if s.Called != "" {
			jobs = append(jobs, s)
		} else {
			others = append(others, s)
		}
	}
	return jobs, others
}

// stacked returns the lane of each span, so that no two overlap.
func stacked(spans []job.Stay) []int {
	lanes := make([]int, len(spans))
	for i, s := range spans {
		for k := 0; k < i; k++ {
			if lanes[k] == lanes[i] && overlap(spans[k], s) {
				lanes[i]++
				k = -1
			}
		}
	}
	return lanes
}

// dropLabels removes labels that would overlap other labels.
func dropLabels(spans []spanView) {
	for i := range spans {
		for k := range i {
			a, b := &spans[k], &spans[i]
			if a.Label != "" && b.Label != "" && math.Abs(a.Baseline()-b.Baseline()) < labelHeight &&
				a.X < b.X+charWidth*float64(len([]rune(b.Label))) && b.X < a.X+charWidth*float64(len([]rune(a.Label))) {
				b.Label = ""
			}
		}
	}
}

// labelHeight is the height of a line of text.
const labelHeight = 13.0

// Baseline returns the y coordinate of the label.
func (s spanView) Baseline() float64 { return tenth(s.Y + min(s.Height-3, 18)) }

// jobsInTheWay names the jobs that may still run on a GPU when a reservation of other users begins
// on that GPU.
func jobsInTheWay(gpu int, jobs, others []job.Stay) (list []string) {
	for _, r := range others {
		if r.For == nil || len(r.For.Groups) > 0 {
			continue // only the scheduler knows the members of a group
		}
		for _, s := range jobs {
			open := s.Until.IsZero() || later(s.Until, s.Late).After(r.From)
			if s.Kind == job.StayRunning && open && !slices.Contains(r.For.Users, s.User) {
				list = append(list, term.Clean(fmt.Sprintf("Job %s of %s may still be running on GPU %d when the GPU is %s. The job will not be stopped.",
					s.Called, s.User, gpu, r.Sentence)))
			}
		}
	}
	return list
}

// labelOf returns a text that fits into a rectangle.
func labelOf(s job.Stay, width, height float64) string {
	if height < 12 {
		return ""
	}
	text := cmp.Or(s.Called, string(s.Kind))
	if s.User != "" && width > charWidth*float64(len([]rune(text))+len([]rune(s.User))+2) {
		text += " " + s.User
	}
	if width < charWidth*float64(len([]rune(text))) {
		return ""
	}
	return term.Clean(text)
}

// titleOf describes a rectangle, without its times.
func titleOf(s job.Stay) string {
	text := string(s.Kind)
	if s.Called != "" {
		text = fmt.Sprintf("job %s of %s", s.Called, s.User)
		if s.Name != "" {
			text += " (" + s.Name + ")"
		}
		text += ", " + string(s.Kind)
	}
	if s.Sentence != "" {
		text += ": " + s.Sentence
	}
	return term.Clean(text)
}
