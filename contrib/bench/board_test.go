package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/contrib/bench/ratios"
)

// Each is measured in each of its rounds, none always right after the same.
func TestTurns(t *testing.T) {
	var order []string
	one := func(name string, every int) contender {
		return contender{name: name, every: every, measure: func() (float64, error) {
			order = append(order, name)
			return float64(len(order)), nil
		}}
	}
	b := &board{unit: seconds}
	if err := b.take(3, []contender{one("a", 0), one("b", 0), one("c", 2)}); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(order, ""); got != "bca"+"ab"+"abc" {
		t.Errorf("the order is %s", got)
	}
	if pairs := b.pairs("a", "c"); !slices.Equal(pairs, []ratios.Pair{{Ours: 3, Theirs: 2}, {Ours: 6, Theirs: 8}}) {
		t.Errorf("pairs of those that are not in all rounds: %v", pairs)
	}
}

// The table of RESULTS.md is what ratios.toml says.
func TestResultsAreTheRatios(t *testing.T) {
	accepted, err := read("ratios.toml")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("RESULTS.md")
	if err != nil {
		t.Fatal(err)
	}
	if want, err := withTable(string(page), accepted); err != nil || want != string(page) {
		t.Errorf("RESULTS.md has another table than ratios.toml gives ('make bench-accept' writes both): %v", err)
	}
}

// A run that fell behind fails, says what to do, and passes once it is accepted.
func TestFallingBehindAndAccepting(t *testing.T) {
	dir := t.TempDir()
	c := comparison{run: filepath.Join(dir, "run"), accepted: filepath.Join(dir, "accepted"), results: filepath.Join(dir, "page")}
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	one := func(ratio string) string {
		return "parts = ['start']\n[[row]]\npart = 'start'\nfigure = 'f'\nagainst = 'g'\nratio = " + ratio + "\nlow = " + ratio + "\nhigh = " + ratio +
			"\nrounds = 9\nours = '2 ms'\ntheirs = '1 ms'\nwhen = 'now'\n"
	}
	write(c.accepted, one("2.0"))
	write(c.run, one("2.5"))
	write(c.results, "above\n"+tableBegin+"old\n"+tableEnd+"below\n")
	var said strings.Builder
	err := c.judge(&said)
	if err == nil || !strings.Contains(err.Error(), "make bench-accept") || said.String() != "f against g: WORSE: 2.50, accepted 2.00 (+25 %)\n" {
		t.Errorf("%q, %v", said.String(), err)
	}
	c.accept = true
	if err := c.judge(&said); err != nil {
		t.Fatal(err)
	}
	want := "above\n" + tableBegin + tableHead + "| f | 2 ms | g | 1 ms | 2.50 |  | 9 |\n" + tableEnd + "below\n"
	if page, _ := os.ReadFile(c.results); string(page) != want {
		t.Errorf("the page is %q, want %q", page, want)
	}
	c.accept = false
	if err := c.judge(&said); err != nil {
		t.Error(err)
	}
	write(c.run, "parts = ['start']\n")
	if err := c.judge(&said); err == nil {
		t.Error("a row that is missing passes")
	}
}
