package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gpusched/gpusched/contrib/bench/ratios"
)

// A board is what was measured in turns, by name: a value for each round, or none where one was left out of it.
type board struct {
	part   string
	unit   func(float64) string
	rounds []map[string]float64
}

// round begins another round.
func (t *board) round() { t.rounds = append(t.rounds, map[string]float64{}) }

// add writes a value of this round down.
func (t *board) add(name string, value float64) { t.rounds[len(t.rounds)-1][name] = value }

// took writes down how long something took.
func (t *board) took(name string, d time.Duration) { t.add(name, d.Seconds()) }

// turn takes what is measured in turns, beginning with another each time, so that none always follows the same.
func (t *board) turn(all []contender) error {
	t.round()
	for i := range all {
		c := all[(i+len(t.rounds))%len(all)]
		if c.every > 1 && len(t.rounds)%c.every != 1 {
			continue
		}
		v, err := c.measure()
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		t.add(c.name, v)
	}
	return nil
}

// take takes so many turns.
func (t *board) take(rounds int, all []contender) error {
	for range rounds {
		if err := t.turn(all); err != nil {
			return err
		}
	}
	return nil
}

// A contender is one of what takes turns.
type contender struct {
	name    string
	every   int // only in every so many rounds; 0 is in each
	measure func() (float64, error)
}

func (t *board) of(name string) (values []float64) {
	for _, r := range t.rounds {
		if v, ok := r[name]; ok {
			values = append(values, v)
		}
	}
	return values
}

// pairs are the rounds in which both were measured.
func (t *board) pairs(ours, theirs string) (pairs []ratios.Pair) {
	for _, r := range t.rounds {
		a, ok := r[ours]
		if b, both := r[theirs]; ok && both {
			pairs = append(pairs, ratios.Pair{Ours: a, Theirs: b})
		}
	}
	return pairs
}

// names are what was measured.
func (t *board) names() []string {
	all := map[string]bool{}
	for _, r := range t.rounds {
		for name := range r {
			all[name] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// show is the median in the board's unit, and the worst of a hundred where there are enough.
func (t *board) show(name string) string {
	values := t.of(name)
	middle := ratios.Median(values) // which sorts them
	if len(values) < 20 {
		return t.unit(middle)
	}
	return t.unit(middle) + ", p99 " + t.unit(values[len(values)*99/100])
}

// compare puts a figure beside others of the board, as rows of the run's record, and prints them.
func (b *rig) compare(t *board, ours string, more bool, against ...string) {
	names := t.names()
	for _, theirs := range against {
		if !slices.Contains(names, theirs) {
			fmt.Printf("| %s | %s | %s | not measured | | | |\n", ours, t.show(ours), theirs)
			continue
		}
		pairs := t.pairs(ours, theirs)
		row := ratios.Row{
			Part: t.part, Figure: ours, Against: theirs, Interval: ratios.Of(pairs), More: more,
			Rounds: len(pairs), Ours: t.show(ours), Theirs: t.show(theirs), When: b.when,
		}
		b.record.Rows = append(b.record.Rows, row)
		fmt.Println(line(row))
	}
}

// head begins a table of rows.
func head() {
	fmt.Print("\n", tableHead)
}

const tableHead = "| figure | gpusched | against | that | ratio, 95 % | goal | rounds |\n" +
	"|---|---|---|---|---|---|---|\n"

// line is a row in a table.
func line(r ratios.Row) string {
	aim := goals[goal{r.Figure, r.Against}]
	cells := []string{r.Figure, r.Ours, r.Against, r.Theirs, r.Interval.String(), aim, fmt.Sprint(r.Rounds)}
	return "| " + strings.Join(cells, " | ") + " |"
}

// Units of boards.
func seconds(s float64) string {
	switch {
	case s >= 1:
		return fmt.Sprintf("%.2f s", s)
	case s >= .01:
		return fmt.Sprintf("%.1f ms", s*1e3)
	}
	return fmt.Sprintf("%.2f ms", s*1e3)
}

func perSecond(r float64) string { return fmt.Sprintf("%.0f/s", r) }

func mebibytes(m float64) string { return fmt.Sprintf("%.1f MiB", m) }
