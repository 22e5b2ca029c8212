package term

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// name returns the name by which users choose a column.
func (c Column[T]) name() string { return cmp.Or(c.Name, c.Key) }

// Names returns the names by which users can choose columns, in order.
func Names[T any](cols []Column[T]) (list []string) {
	for _, c := range cols {
		if c.name() != "" {
			list = append(list, c.name())
		}
	}
	return list
}

// Choose returns the columns that have these names or csv keys, in the order of the names. The
// chosen columns are always visible.
func Choose[T any](cols []Column[T], names []string) ([]Column[T], error) {
	var list []Column[T]
	for _, name := range names {
		i := slices.IndexFunc(cols, func(c Column[T]) bool { return name != "" && (c.name() == name || c.Key == name) })
		if i < 0 {
			return nil, fmt.Errorf("there is no column %q; the columns are %s", name, strings.Join(Names(cols), ", "))
		}
		c := cols[i]
		c.Title = cmp.Or(c.Title, strings.ToUpper(c.name()))
		c.Key = cmp.Or(c.Key, c.name())
		c.Extra, c.Maybe = false, false
		c.Late, c.Drop = false, 0
		list = append(list, c)
	}
	return list, nil
}

// Sort sorts rows by the named column. If the name begins with a minus sign, the order is reversed.
// If two cells are numbers, they are compared as numbers. Rows without a value come last.
func Sort[T any](cols []Column[T], rows []T, name string) error {
	name, down := strings.CutPrefix(name, "-")
	chosen, err := Choose(cols, []string{name})
	if err != nil {
		return err
	}
	value := chosen[0].Raw
	if value == nil {
		value = chosen[0].Cell
	}
	slices.SortStableFunc(rows, func(a, b T) int {
		x, y := value(a), value(b)
		switch {
		case (x == "") != (y == ""):
			return cmp.Compare(y, x) // the row without a value comes last
		case down:
			x, y = y, x
		}
		return compare(x, y)
	})
	return nil
}

func compare(x, y string) int {
	n, errX := strconv.ParseFloat(x, 64)
	m, errY := strconv.ParseFloat(y, 64)
	if errX == nil && errY == nil {
		return cmp.Compare(n, m)
	}
	return strings.Compare(x, y)
}
