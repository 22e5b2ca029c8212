package term

import (
	"cmp"
	"encoding/csv"
	"io"
	"slices"
	"strings"
)

// Column is one column of a table over rows of T.
type Column[T any] struct {
	Title string         // above the column
	Key   string         // in the first line of csv; "" keeps it out of csv
	Name  string         // by which it is chosen; "": as Key
	Late  bool           // comes after all others in csv, whose places stay as they were
	Extra bool           // only in -o wide and csv
	Right bool           // numbers
	Maybe bool           // left out of tables where every cell is empty
	Least int            // the width it may be cut to; 0: never cut
	Drop  int            // where a terminal is too narrow for all, those with the highest go first; 0: never
	Cell  func(T) string // for people
	Short Shortened[T]   // instead of a cell that would be cut; nil: it is cut
	Raw   func(T) string // for csv; nil: cell
	Style func(T) Style  // nil: plain
}

// Shortened is what a cell says in so many columns, or a little more.
type Shortened[T any] func(row T, width int) string

// gap is what stands between two columns.
const gap = "  "

// WriteTable prints rows for people. On a terminal columns that may be cut are
// cut to fit; elsewhere, and with wide, everything is shown.
func WriteTable[T any](t *Terminal, cols []Column[T], rows []T, wide bool) {
	table := drawn(cols, rows, wide)
	if t.Width > 0 && !wide {
		table = fitting(table, t.Width)
		squeeze(table, t.Width)
	}
	line := make([]string, len(table))
	for j, c := range table {
		line[j] = t.Paint(Dim, Pad(c.Title, c.width, c.Right))
	}
	writeLine(t, line)
	for i, row := range rows {
		for j, c := range table {
			text := c.cells[i]
			if c.Short != nil && Columns(text) > c.width {
				text = Clean(c.Short(row, c.width))
			}
			line[j] = Pad(Cut(text, c.width), c.width, c.Right)
			if c.Style != nil {
				line[j] = t.Paint(c.Style(row), line[j])
			}
		}
		writeLine(t, line)
	}
}

// drawing is a column with what its cells say, and how wide it is.
type drawing[T any] struct {
	Column[T]
	cells []string
	width int
}

// drawn asks each column that is shown for its cells, once.
func drawn[T any](cols []Column[T], rows []T, wide bool) (table []drawing[T]) {
	for _, c := range cols {
		if c.Title == "" || c.Extra && !wide {
			continue
		}
		d := drawing[T]{c, make([]string, len(rows)), Columns(c.Title)}
		empty := true
		for i, row := range rows {
			d.cells[i] = Clean(c.Cell(row))
			d.width = max(d.width, Columns(d.cells[i]))
			empty = empty && d.cells[i] == ""
		}
		if !c.Maybe || !empty {
			table = append(table, d)
		}
	}
	return table
}

// fitting leaves out the columns that a line has no room for, however much the others are cut.
func fitting[T any](table []drawing[T], total int) []drawing[T] {
	need := len(gap) * (len(table) - 1)
	for _, c := range table {
		need += c.least()
	}
	for need > total {
		out := 0
		for j, c := range table {
			if c.Drop > table[out].Drop {
				out = j
			}
		}
		if table[out].Drop == 0 {
			break
		}
		need -= table[out].least() + len(gap)
		table = slices.Delete(table, out, out+1)
	}
	return table
}

// least is the width to which the column may be cut.
func (d *drawing[T]) least() int {
	if d.Least > 0 {
		return min(d.width, d.Least)
	}
	return d.width
}

func late[T any](c Column[T]) int {
	if c.Late {
		return 1
	}
	return 0
}

func writeLine(t *Terminal, cells []string) {
	t.Printf("%s\n", strings.TrimRight(strings.Join(cells, gap), " "))
}

// squeeze takes from the widest columns that may be cut until all fit.
func squeeze[T any](table []drawing[T], total int) {
	over := len(gap)*(len(table)-1) - total
	for _, c := range table {
		over += c.width
	}
	for ; over > 0; over-- {
		widest := -1
		for j, c := range table {
			if c.Least > 0 && c.width > c.Least && (widest < 0 || c.width > table[widest].width) {
				widest = j
			}
		}
		if widest < 0 {
			return
		}
		table[widest].width--
	}
}

// Pad fills a text up to n columns, on its left where it belongs to the right.
func Pad(s string, n int, right bool) string {
	fill := strings.Repeat(" ", max(0, n-Columns(s)))
	if right {
		return fill + s
	}
	return s + fill
}

// defused is a cell that no spreadsheet takes for a formula: text that begins
// like one gets an apostrophe, which they show as text. Negative numbers stay.
func defused(cell string) string {
	if cell == "" || !strings.ContainsRune("=+-@\t\r", rune(cell[0])) || negative(cell) {
		return cell
	}
	return "'" + cell
}

// negative reports whether a cell is a number below zero, such as -12 or -0.5.
func negative(cell string) bool {
	whole, part, found := strings.Cut(strings.TrimPrefix(cell, "-"), ".")
	digits := func(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
	return cell[0] == '-' && digits(whole) && (!found || digits(part))
}

// inCSV are the columns of csv in their order.
func inCSV[T any](cols []Column[T]) []Column[T] {
	cols = slices.DeleteFunc(slices.Clone(cols), func(c Column[T]) bool { return c.Key == "" })
	slices.SortStableFunc(cols, func(a, b Column[T]) int { return cmp.Compare(late(a), late(b)) })
	return cols
}

// WriteCSV prints every column that has a key, in the form for machines.
func WriteCSV[T any](w io.Writer, cols []Column[T], rows []T) error {
	line := csv.NewWriter(w)
	var keys []string
	for _, c := range inCSV(cols) {
		keys = append(keys, c.Key)
	}
	if err := line.Write(keys); err != nil {
		return err
	}
	line.Flush()
	if err := line.Error(); err != nil {
		return err
	}
	return WriteRows(w, cols, rows)
}

// WriteRows is WriteCSV without its first line.
func WriteRows[T any](w io.Writer, cols []Column[T], rows []T) error {
	cols = inCSV(cols)
	out := csv.NewWriter(w)
	line := make([]string, len(cols))
	for _, row := range rows {
		for j, c := range cols {
			if line[j] = ""; c.Raw != nil {
				line[j] = c.Raw(row)
			} else {
				line[j] = c.Cell(row)
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
