package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/gpusched/gpusched/contrib/bench/ratios"
)

// ratiosComment is above the rows of ratios.toml.
const ratiosComment = `What 'make bench' compares its ratios with. It is written by 'make bench-accept' (after 'make bench'); a row is a
figure of gpusched, what it was measured in turns with, the ratio of their medians, and its interval of 95 %.
`

// Between these lines of RESULTS.md is a table of the accepted ratios.
const tableBegin, tableEnd = "<!-- ratios.toml -->\n", "<!-- end -->\n"

// A comparison is of a run with what was accepted.
type comparison struct {
	run, accepted, results string // files
	accept, widen          bool
}

// judge compares, and says so; with accept or widen it writes the run down as the accepted one.
func (c comparison) judge(to io.Writer) error {
	run, err := read(c.run)
	if err != nil {
		return err
	}
	accepted, err := read(c.accepted)
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	if err != nil {
		return err
	}
	behind := 0
	for _, f := range ratios.Judge(accepted, run) {
		fmt.Fprintln(to, f)
		if f.Fails() {
			behind++
		}
	}
	if c.accept || c.widen {
		return c.write(ratios.Accept(accepted, run, c.widen))
	}
	if behind > 0 {
		return fmt.Errorf("%d of these ratios fell behind %s by more than the noise. Was the machine busy? Then measure again. "+
			"Is it meant? 'make bench-accept' takes this run from now on", behind, c.accepted)
	}
	return nil
}

func read(path string) (ratios.Record, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return ratios.Record{}, err
	}
	r, err := ratios.Parse(text)
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return r, err
}

// write writes the accepted rows, and their table in the results.
func (c comparison) write(all ratios.Record) error {
	text, err := all.Text(ratiosComment)
	if err != nil {
		return err
	}
	page, err := os.ReadFile(c.results)
	if err != nil {
		return err
	}
	now, err := withTable(string(page), all)
	if err != nil {
		return fmt.Errorf("%s: %w", c.results, err)
	}
	return errors.Join(os.WriteFile(c.accepted, text, 0o644), os.WriteFile(c.results, []byte(now), 0o644))
}

// withTable is a page with the table of these rows.
func withTable(page string, all ratios.Record) (string, error) {
	before, rest, begins := strings.Cut(page, tableBegin)
	_, after, ends := strings.Cut(rest, tableEnd)
	if !begins || !ends {
		return "", fmt.Errorf("there are no lines %q and %q", tableBegin, tableEnd)
	}
	var table strings.Builder
	table.WriteString(before + tableBegin + tableHead)
	for _, r := range all.Rows {
		fmt.Fprintln(&table, line(r))
	}
	return table.String() + tableEnd + after, nil
}
