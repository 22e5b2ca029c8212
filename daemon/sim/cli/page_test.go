package cli

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/sim"
)

func rendered(t *testing.T) string {
	t.Helper()
	tr := sim.Generate(100, 2, 1)
	var runs []policyRun
	for _, name := range []string{"fifo-strict", "fifo"} {
		p, err := sim.Named(name, sim.Tuning{})
		if err != nil {
			t.Fatal(err)
		}
		out, err := sim.Run(tr, sim.Options{GPUs: 8, GPUMemBytes: 80 << 30, Policy: p, SwitchCost: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, policyRun{Policy: name + "<&>", Outcomes: []*sim.Outcome{out}, Mean: out.Metrics})
	}
	return render(`a "title" <b>`, "subtitle & more", "tables < all", runs)
}

// The page is well-formed, refers to no other resource, and is the same for the same runs.
func TestPage(t *testing.T) {
	text := rendered(t)
	dec := xml.NewDecoder(strings.NewReader(strings.TrimPrefix(text, "<!DOCTYPE html>\n")))
	count := map[string]int{}
	for {
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("the page is not well-formed: %v", err)
		}
		if el, ok := tok.(xml.StartElement); ok {
			count[el.Name.Local]++
			for _, a := range el.Attr {
				if a.Name.Local == "href" || a.Name.Local == "src" {
					t.Errorf("<%s> names %q", el.Name.Local, a.Value)
				}
			}
		}
	}
	// The bars, two charts for each of two policies, and the completion times.
	if count["svg"] != 5 || count["rect"] < 50 || count["table"] != 1 || count["b"] != 0 {
		t.Errorf("the page has %v", count)
	}
	if strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
		t.Error("a figure is not a number")
	}
	if text != rendered(t) {
		t.Error("the same runs give another page")
	}
}

func TestEmptyPage(t *testing.T) {
	if text := render("t", "s", "", nil); strings.Contains(text, "NaN") || !strings.Contains(text, "</html>") {
		t.Error(text)
	}
}

// While bob waits, ann has both GPUs, one of which should be bob's. Later each user has one GPU.
func TestFairnessCharts(t *testing.T) {
	hour := func(n int) time.Duration { return time.Duration(n) * 6 * time.Hour }
	job := func(user string, from, start, end int) sim.JobOutcome {
		return sim.JobOutcome{
			Job: sim.Job{Submit: hour(from), Run: hour(end - start), GPUMilli: 1000, User: user}, End: hour(end),
			Wait: hour(start - from), Held: []sim.Span{{From: hour(start), To: hour(end)}},
		}
	}
	out := &sim.Outcome{Jobs: []sim.JobOutcome{job("ann", 0, 0, 2), job("ann", 0, 0, 1), job("bob<", 0, 1, 2)}}
	text := render("t", "s", "", []policyRun{{Policy: "p", Outcomes: []*sim.Outcome{out}}})
	for _, want := range []string{
		`<title>day 0, ann: 2 GPUs</title>`, `<title>day 0, bob&lt;: 1 GPUs</title>`, `<title>day 0: 1 GPUs</title>`, `> bob&lt; <`,
	} {
		if strings.Count(text, want) == 0 {
			t.Errorf("the page has no %s\n%s", want, text)
		}
	}
}
