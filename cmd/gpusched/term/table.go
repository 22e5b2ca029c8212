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
	cols = slices.DeleteFunc(slices.Clone(cols), func(c Column[T]) bool {
		return c.Title == "" || c.Extra && !wide || c.Maybe && empty(c, rows)
	})
	if t.Width > 0 && !wide {
		cols = fitting(cols, rows, t.Width)
	}
	cells := make([][]string, len(rows))
	widths := make([]int, len(cols))
	for j, c := range cols {
		widths[j] = Columns(c.Title)
	}
	for i, row := range rows {
		cells[i] = make([]string, len(cols))
		for j, c := range cols {
			cells[i][j] = Clean(c.Cell(row))
			widths[j] = max(widths[j], Columns(cells[i][j]))
		}
	}
	if t.Width > 0 && !wide {
		squeeze(cols, widths, t.Width)
	}
	line := make([]string, len(cols))
	for j, c := range cols {
		line[j] = t.Paint(Dim, Pad(c.Title, widths[j], c.Right))
	}
	writeLine(t, line)
	for i, row := range rows {
		for j, c := range cols {
			if c.Short != nil && Columns(cells[i][j]) > widths[j] {
				cells[i][j] = Clean(c.Short(row, widths[j]))
			}
			line[j] = Pad(Cut(cells[i][j], widths[j]), widths[j], c.Right)
			if c.Style != nil {
				line[j] = t.Paint(c.Style(row), line[j])
			}
		}
		writeLine(t, line)
	}
}

// fitting leaves out the columns that a line has no room for, however much the others are cut.
func fitting[T any](cols []Column[T], rows []T, total int) []Column[T] {
	least := make([]int, len(cols))
	need := len(gap) * (len(cols) - 1)
	for j, c := range cols {
		least[j] = Columns(c.Title)
		for _, row := range rows {
			least[j] = max(least[j], Columns(c.Cell(row)))
		}
		if c.Least > 0 {
			least[j] = min(least[j], c.Least)
		}
		need += least[j]
	}
	for need > total {
		out := 0
		for j, c := range cols {
			if c.Drop > cols[out].Drop {
				out = j
			}
		}
		if cols[out].Drop == 0 {
			break
		}
		need -= least[out] + len(gap)
		cols, least = slices.Delete(cols, out, out+1), slices.Delete(least, out, out+1)
	}
	return cols
}

func empty[T any](c Column[T], rows []T) bool {
	return !slices.ContainsFunc(rows, func(row T) bool { return c.Cell(row) != "" })
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
func squeeze[T any](cols []Column[T], widths []int, total int) {
	over := len(gap)*(len(cols)-1) - total
	for _, w := range widths {
		over += w
	}
	for ; over > 0; over-- {
		widest := -1
		for j, c := range cols {
			if c.Least > 0 && widths[j] > c.Least && (widest < 0 || widths[j] > widths[widest]) {
				widest = j
			}
		}
		if widest < 0 {
			return
		}
		widths[widest]--
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
