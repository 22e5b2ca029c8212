package job

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParsePriority(t *testing.T) {
	for text, want := range map[string]Priority{
		"0": {}, "-0": {}, "normal": {}, "5": {Number: 5}, "-5": {Number: -5}, "007": {Number: 7}, "1000000": {Number: 1_000_000}, "-1000000": {Number: -1_000_000},
		"scavenger": {Class: Scavenger}, "low": {Class: Low}, "high": {Class: High}, "interactive": {Class: Interactive},
	} {
		if got, err := ParsePriority(text); got != want || err != nil {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "+5", "--5", " 5", "5 ", "1.5", "1e3", "０", "High", "urgent", "1000001", "-1000001", "99999999999999999999", "high+1"} {
		if got, err := ParsePriority(text); got != (Priority{}) || err == nil || !strings.Contains(err.Error(), "scavenger, low, normal, high, interactive") {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

func TestPriorityString(t *testing.T) {
	for p, want := range map[Priority]string{
		{}: "normal", {Number: 5}: "5", {Number: -5}: "-5", {Class: Scavenger}: "scavenger", {Class: Low}: "low", {Class: High}: "high", {Class: Interactive}: "interactive",
	} {
		if got := p.String(); got != want {
			t.Errorf("%+v: %q", p, got)
		}
	}
}

func TestRaised(t *testing.T) {
	order := []string{"interactive", "high", "1000000", "1", "normal", "-1", "-1000000", "low", "scavenger"}
	parse := func(text string) Priority {
		p, err := ParsePriority(text)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	for i, a := range order {
		if got := parse(a).Raised(); got != (i < 4) {
			t.Errorf("%s raised: %t", a, got)
		}
	}
}

// priorities generates all values that ParsePriority can return.
func priorities() *rapid.Generator[Priority] {
	return rapid.Custom(func(t *rapid.T) Priority {
		p := Priority{Class: Class(rapid.IntRange(int(Scavenger), int(Interactive)).Draw(t, "class"))}
		if p.Class == Normal {
			p.Number = rapid.IntRange(-maxPriority, maxPriority).Draw(t, "number")
		}
		return p
	})
}

func TestPriorityRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := priorities().Draw(t, "p")
		if got, err := ParsePriority(p.String()); got != p || err != nil {
			t.Fatalf("%+v is printed as %q and read as %+v, %v", p, p, got, err)
		}
	})
}

func FuzzParsePriority(f *testing.F) {
	for _, seed := range []string{"", "0", "-0", "+5", "5", "--5", " 5", "０", "high", "High", "1000001", "9223372036854775808"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParsePriority(text)
		if err != nil {
			return
		}
		if again, err := ParsePriority(p.String()); again != p || err != nil {
			t.Fatalf("%q is %+v, again %+v, %v", text, p, again, err)
		}
		if n := p.Number; n < -maxPriority || n > maxPriority || p.Class < Scavenger || p.Class > Interactive {
			t.Fatalf("%q is %+v", text, p)
		}
	})
}
