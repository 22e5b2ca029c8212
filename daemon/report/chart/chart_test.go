package chart

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
)

const attack = `"></svg><script>alert(1)</script>&'`

// A drawing is the relevant content of an SVG: rectangles and text.
type drawing struct {
	Rects []struct {
		Class  string  `xml:"class,attr"`
		X      float64 `xml:"x,attr"`
		Y      float64 `xml:"y,attr"`
		Width  float64 `xml:"width,attr"`
		Height float64 `xml:"height,attr"`
		Title  string  `xml:"title"`
	} `xml:"rect"`
	Texts []string `xml:"text"`
}

func read(t *testing.T, svg string) (d drawing) {
	t.Helper()
	dec := xml.NewDecoder(strings.NewReader(svg))
	if err := dec.Decode(&d); err != nil {
		t.Fatalf("%v in %s", err, svg)
	}
	if _, err := dec.Token(); err == nil || !errors.Is(err, io.EOF) {
		if rest, _ := dec.Token(); rest != nil {
			t.Errorf("there is more than a drawing: %v", rest)
		}
	}
	return d
}

func hours(v float64) string { return fmt.Sprintf("%g h", v) }

func TestColumns(t *testing.T) {
	c := Columns{Label: attack, Width: 100, Slots: []string{"a", attack}, Figure: hours, Series: []Series{
		{"alice", "c0", []float64{30, 0}}, {attack, "c1", []float64{10, 35}},
	}}
	d := read(t, c.SVG())
	if len(d.Rects) != 3 || d.Texts[0] != "40 h" || d.Texts[1] != "20 h" {
		t.Fatalf("%+v", d)
	}
	low, high := d.Rects[0], d.Rects[1]
	if low.Y+low.Height != columnsTop+columnsHigh || high.Y+high.Height != low.Y || low.Height != 3*high.Height || high.Y != columnsTop {
		t.Errorf("the parts are not stacked: %+v %+v", low, high)
	}
	if middle := columnsLeft + (c.Width-columnsLeft)/2; low.X < columnsLeft || low.X+low.Width > middle || d.Rects[2].X < middle || low.Title != "a, alice: 30 h" {
		t.Errorf("%+v", d.Rects)
	}
	c.Over, c.Most = true, 50
	d = read(t, c.SVG())
	for _, r := range d.Rects {
		if r.Y+r.Height != columnsTop+columnsHigh {
			t.Errorf("a part does not begin at the floor: %+v", r)
		}
	}
	if d.Texts[0] != "50 h" {
		t.Errorf("%q", d.Texts)
	}
	if (&Columns{Slots: []string{"a"}, Series: []Series{{"", "", []float64{0}}}}).SVG() != "" {
		t.Error("there is a drawing of nothing")
	}
}

// The names of slots do not overlap, however many slots there are.
func TestColumnsHaveRoomForNames(t *testing.T) {
	c := Columns{Width: 1000, Figure: hours, Series: []Series{{"", "c", nil}}}
	for range 90 {
		c.Slots, c.Series[0].Values = append(c.Slots, "2026-11-20"), append(c.Series[0].Values, 1)
	}
	if names := len(read(t, c.SVG()).Texts) - 2; names < 6 || names > 9 {
		t.Errorf("%d names are written", names)
	}
}

func TestBars(t *testing.T) {
	d := read(t, Bars(attack, "bar", []Bar{{attack, "4 h", 4}, {"bob", "1 h", 1}, {"carol", "0 h", 0}}))
	if len(d.Rects) != 3 || d.Rects[0].Width != 4*d.Rects[1].Width || d.Rects[2].Width != 1 || len(d.Texts) != 6 {
		t.Errorf("%+v", d)
	}
	if Bars("", "", []Bar{{"a", "0", 0}}) != "" {
		t.Error("there is a drawing of nothing")
	}
}

func TestRound(t *testing.T) {
	for most, want := range map[float64]float64{0.31: 0.4, 1: 1, 1.1: 1.2, 7: 8, 9: 10, 10: 10, 61: 80, 4001: 5000} {
		if got := round(most); got < want*0.999 || got > want*1.001 {
			t.Errorf("%g: %g, want %g", most, got, want)
		}
	}
}

func TestPeriods(t *testing.T) {
	for _, tt := range []struct {
		kind, from, to string
		want           []string
	}{
		{"day", "2026-02-27", "2026-03-01", []string{"2026-02-27", "2026-02-28", "2026-03-01"}},
		{"week", "2026-11-09", "2026-11-23", []string{"2026-11-09", "2026-11-16", "2026-11-23"}},
		{"month", "2026-11-01", "2027-01-01", []string{"2026-11-01", "2026-12-01", "2027-01-01"}},
		{"day", "2026-02-27", "", nil},
	} {
		if got := Periods(tt.kind, tt.from, tt.to); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s %s %s: %q", tt.kind, tt.from, tt.to, got)
		}
	}
}
