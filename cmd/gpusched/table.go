package main

import (
	"encoding/csv"
	"io"
	"regexp"
	"slices"
	"strings"
)

// column is one column of a table over rows of T.
type column[T any] struct {
	title string         // above the column
	key   string         // in the first line of csv; "" keeps it out of csv
	extra bool           // only in -o wide and csv
	right bool           // numbers
	maybe bool           // left out of tables where every cell is empty
	least int            // the width it may be cut to; 0: never cut
	cell  func(T) string // for people
	raw   func(T) string // for csv; nil: cell
	style func(T) style  // nil: plain
}

// gap is what stands between two columns.
const gap = "  "

// writeTable prints rows for people. On a terminal columns that may be cut are
// cut to fit; elsewhere, and with wide, everything is shown.
func writeTable[T any](t *terminal, cols []column[T], rows []T, wide bool) {
	if !wide {
		cols = without(cols, func(c column[T]) bool { return c.extra })
	}
	cols = without(cols, func(c column[T]) bool { return c.title == "" || c.maybe && empty(c, rows) })
	cells := make([][]string, len(rows))
	widths := make([]int, len(cols))
	for j, c := range cols {
		widths[j] = columns(c.title)
	}
	for i, row := range rows {
		cells[i] = make([]string, len(cols))
		for j, c := range cols {
			cells[i][j] = clean(c.cell(row))
			widths[j] = max(widths[j], columns(cells[i][j]))
		}
	}
	if t.width > 0 && !wide {
		squeeze(cols, widths, t.width)
	}
	line := make([]string, len(cols))
	for j, c := range cols {
		line[j] = t.paint(dim, pad(c.title, widths[j], c.right))
	}
	writeLine(t, line)
	for i, row := range rows {
		for j, c := range cols {
			line[j] = pad(cut(cells[i][j], widths[j]), widths[j], c.right)
			if c.style != nil {
				line[j] = t.paint(c.style(row), line[j])
			}
		}
		writeLine(t, line)
	}
}

func empty[T any](c column[T], rows []T) bool {
	return !slices.ContainsFunc(rows, func(row T) bool { return c.cell(row) != "" })
}

func writeLine(t *terminal, cells []string) {
	t.printf("%s\n", strings.TrimRight(strings.Join(cells, gap), " "))
}

// squeeze takes from the widest columns that may be cut until all fit.
func squeeze[T any](cols []column[T], widths []int, total int) {
	over := len(gap)*(len(cols)-1) - total
	for _, w := range widths {
		over += w
	}
	for ; over > 0; over-- {
		widest := -1
		for j, c := range cols {
			if c.least > 0 && widths[j] > c.least && (widest < 0 || widths[j] > widths[widest]) {
				widest = j
			}
		}
		if widest < 0 {
			return
		}
		widths[widest]--
	}
}

func pad(s string, n int, right bool) string {
	fill := strings.Repeat(" ", max(0, n-columns(s)))
	if right {
		return fill + s
	}
	return s + fill
}

// without leaves out of a list what is to be dropped.
func without[T any](list []T, drop func(T) bool) []T {
	var kept []T
	for _, item := range list {
		if !drop(item) {
			kept = append(kept, item)
		}
	}
	return kept
}

// defused is a cell that no spreadsheet takes for a formula: text that begins
// like one gets an apostrophe, which they show as text. Negative numbers stay.
func defused(cell string) string {
	if cell == "" || !strings.ContainsRune("=+-@\t\r", rune(cell[0])) || numeric.MatchString(cell) {
		return cell
	}
	return "'" + cell
}

var numeric = regexp.MustCompile(`^-[0-9]+(\.[0-9]+)?$`)

// writeCSV prints every column that has a key, in the form for machines.
func writeCSV[T any](w io.Writer, cols []column[T], rows []T) error {
	cols = without(cols, func(c column[T]) bool { return c.key == "" })
	out := csv.NewWriter(w)
	line := make([]string, len(cols))
	for j, c := range cols {
		line[j] = c.key
	}
	if err := out.Write(line); err != nil {
		return err
	}
	for _, row := range rows {
		for j, c := range cols {
			if line[j] = ""; c.raw != nil {
				line[j] = c.raw(row)
			} else {
				line[j] = c.cell(row)
			}
			line[j] = defused(line[j])
		}
		if err := out.Write(line); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}
