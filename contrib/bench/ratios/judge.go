package ratios

import (
	"fmt"
	"slices"
)

// slack is what is never called a difference: as much lies between two builds of the same.
const slack = 0.05

// A Verdict is how a row of a run stands to the accepted one.
type Verdict string

// The verdicts; those that fail a run are Worse and Missing.
const (
	Same    Verdict = "as accepted"
	Better  Verdict = "better"
	Worse   Verdict = "WORSE"
	Missing Verdict = "NOT MEASURED"
	New     Verdict = "new"
)

// A Finding is a verdict on a row.
type Finding struct {
	Verdict
	Row Row // of the run; of Missing the accepted one
	Was Row // the accepted one; of New none
}

// Fails reports whether the run is not to pass.
func (f Finding) Fails() bool { return f.Verdict == Worse || f.Verdict == Missing }

// String says which row it is, and by how much.
func (f Finding) String() string {
	switch f.Verdict {
	case Missing:
		return fmt.Sprintf("%s: %s: it was %s", f.Row.Name(), f.Verdict, f.Was.Interval)
	case New:
		return fmt.Sprintf("%s: %s: %s", f.Row.Name(), f.Verdict, f.Row.Interval)
	}
	return fmt.Sprintf("%s: %s: %s, accepted %s (%+.0f %%)", f.Row.Name(), f.Verdict, f.Row.Interval, f.Was.Interval,
		100*(f.Row.Ratio/f.Was.Ratio-1))
}

func (i Interval) String() string {
	if i.Low == i.High {
		return figure(i.Ratio)
	}
	return fmt.Sprintf("%s (%s to %s)", figure(i.Ratio), figure(i.Low), figure(i.High))
}

// figure writes three digits that count.
func figure(f float64) string {
	switch {
	case f >= 99.95:
		return fmt.Sprintf("%.0f", f)
	case f >= 9.995:
		return fmt.Sprintf("%.1f", f)
	case f >= 0.0995:
		return fmt.Sprintf("%.2f", f)
	}
	return fmt.Sprintf("%.2g", f)
}

// Judge compares a run with what was accepted: a finding for each row of the run, and for each that is missing.
func Judge(accepted, run Record) (all []Finding) {
	have := map[string]bool{}
	for _, row := range run.Rows {
		have[row.key()] = true
		i := slices.IndexFunc(accepted.Rows, func(r Row) bool { return r.key() == row.key() })
		if i < 0 {
			all = append(all, Finding{Verdict: New, Row: row})
			continue
		}
		all = append(all, Finding{row.against(accepted.Rows[i]), row, accepted.Rows[i]})
	}
	for _, row := range accepted.Rows {
		if !have[row.key()] && slices.Contains(run.Parts, row.Part) {
			all = append(all, Finding{Missing, row, row})
		}
	}
	return all
}

// against compares a row with the accepted one.
func (r Row) against(was Row) Verdict {
	above := r.Low > was.High && r.Ratio > was.Ratio*(1+slack)
	below := r.High < was.Low && r.Ratio < was.Ratio*(1-slack)
	switch {
	case above && !r.More, below && r.More:
		return Worse
	case above, below:
		return Better
	}
	return Same
}
