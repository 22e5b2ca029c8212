package page_test

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/sim"
	"github.com/gpusched/gpusched/daemon/sim/page"
)

func render(t *testing.T) string {
	t.Helper()
	tr := sim.Generate(100, 2, 1)
	var runs []page.Run
	for _, name := range []string{"fifo-strict", "fifo"} {
		p, err := sim.Named(name, sim.Tuning{})
		if err != nil {
			t.Fatal(err)
		}
		out, err := sim.Run(tr, sim.Options{GPUs: 8, GPUMemBytes: 80 << 30, Policy: p, SwitchCost: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, page.Run{Policy: name + "<&>", Outcomes: []*sim.Outcome{out}, Mean: out.Metrics})
	}
	return page.Render(`a "title" <b>`, "subtitle & more", runs)
}

// TestPage holds invariants 1 to 3.
func TestPage(t *testing.T) {
	text := render(t)
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
	if count["svg"] != 3 || count["polyline"] != 4 || count["b"] != 0 || count["tr"] != 3 {
		t.Errorf("the page has %v", count)
	}
	if strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
		t.Error("a figure is not a number")
	}
	if text != render(t) {
		t.Error("the same runs give another page")
	}
}

func TestEmptyPage(t *testing.T) {
	if text := page.Render("t", "s", nil); strings.Contains(text, "NaN") || !strings.Contains(text, "</html>") {
		t.Error(text)
	}
}
