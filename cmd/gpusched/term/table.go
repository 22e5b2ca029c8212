package term

import (
	"cmp"
	"encoding/csv"
	"io"
	"slices"
	"strings"
)

// Column is a column of a table whose rows have the type T.
type Column[T any] struct {
	Title string         // heading; "": not in tables
	Key   string         // heading in csv; "": not in csv
	Name  string         // name by which users choose the column; "": Key
	Late  bool           // added in a later version: last in csv, so that the other columns keep their places
	Extra bool           // shown only with -o wide and in csv
	Right bool           // right-aligned, for numbers
	Maybe bool           // left out of tables if all cells are empty
	Least int            // width to which it may be cut; 0: never cut
	Drop  int            // order of dropping on narrow terminals, the highest first; 0: never dropped
	Cell  func(T) string // cell for people
	Short Shortened[T]   // shorter form of a cell that would be cut; nil: cut it
	Raw   func(T) string // cell for csv; nil: Cell
	Style func(T) Style  // style of a cell; nil: plain
}

// Shortened returns a shorter form of a cell, of about this width.
type Shortened[T any] func(row T, width int) string

// gap is the space between two columns.
const gap = "  "

// WriteTable prints rows for people. On a terminal it drops and cuts columns until the table fits,
// unless the argument wide is true.
func WriteTable[T any](t *Terminal, cols []Column[T], rows []T, wide bool) {
	table := drawCells(cols, rows, wide)
	if t.Width > 0 && !wide {
		table = dropColumns(table, t.Width)
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

// A drawing is a column with the texts of its cells and its width.
type drawing[T any] struct {
	Column[T]
	cells []string
	width int
}

// drawCells formats the cells of each visible column once.
func drawCells[T any](cols []Column[T], rows []T, wide bool) (table []drawing[T]) {
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

// dropColumns drops columns until the remaining ones fit when they are cut.
func dropColumns[T any](table []drawing[T], total int) []drawing[T] {
	need := len(gap) * (len(table) - 1)
	for _, c := range table {
		need += c.minWidth()
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
		need -= table[out].minWidth() + len(gap)
		table = slices.Delete(table, out, out+1)
	}
	return table
}

// minWidth returns the width to which the column may be cut.
func (d *drawing[T]) minWidth() int {
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

// squeeze narrows the columns that may be cut, the widest first, until all columns fit.
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

// Pad adds blanks to a text up to n columns. If alignRight is set, it adds them on the left.
func Pad(s string, n int, alignRight bool) string {
	fill := strings.Repeat(" ", max(0, n-Columns(s)))
	if alignRight {
		return fill + s
	}
	return s + fill
}

// withoutFormula changes a cell so that no spreadsheet takes it for a formula. If the text begins
// like a formula, it adds an apostrophe in front. Negative numbers stay unchanged.
func withoutFormula(cell string) string {
	if cell == "" || !strings.ContainsRune("=+-@\t\r", rune(cell[0])) || isNegative(cell) {
		return cell
	}
	return "'" + cell
}

// isNegative reports whether a cell is a number below zero, such as -12 or -0.5.
func isNegative(cell string) bool {
	whole, part, found := strings.Cut(strings.TrimPrefix(cell, "-"), ".")
	digits := func(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
	return cell[0] == '-' && digits(whole) && (!found || digits(part))
}

// inCSV returns the columns that csv has, in order.
func inCSV[T any](cols []Column[T]) []Column[T] {
	cols = slices.DeleteFunc(slices.Clone(cols), func(c Column[T]) bool { return c.Key == "" })
	slices.SortStableFunc(cols, func(a, b Column[T]) int { return cmp.Compare(late(a), late(b)) })
	return cols
}

// WriteCSV prints every column that has a key.
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

// WriteRows is like WriteCSV, but prints no heading.
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
			line[j] = withoutFormula(line[j])
		}
		if err := out.Write(line); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}
