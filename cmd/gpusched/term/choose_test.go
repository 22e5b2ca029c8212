package term

import (
	"bufio"
	"bytes"
	"slices"
	"strconv"
	"strings"
	"testing"
)

type line struct {
	id   int
	name string
}

func lineColumns() []Column[line] {
	return []Column[line]{
		{Title: "ID", Key: "id", Cell: func(l line) string { return "#" + strconv.Itoa(l.id) }, Raw: func(l line) string { return strconv.Itoa(l.id) }},
		{Title: "NAME", Key: "name_text", Name: "name", Extra: true, Least: 4, Drop: 1, Cell: func(l line) string { return l.name }, Short: func(line, int) string { return "short" }},
		{Title: "ODD", Key: "odd", Late: true, Maybe: true, Drop: 2, Cell: func(l line) string { return strings.Repeat("odd", l.id%2) }},
	}
}

func TestColumnsAreChosenByName(t *testing.T) {
	list, err := Choose(lineColumns(), []string{"odd", "name_text", "name"})
	if err != nil || len(list) != 3 || list[0].Title != "ODD" || list[1].Extra || list[2].Title != "NAME" {
		t.Errorf("%+v, %v", list, err)
	}
	for _, names := range [][]string{{"id", "age"}, {""}} {
		if _, err := Choose(lineColumns(), names); err == nil || !strings.HasSuffix(err.Error(), "the columns are id, name, odd") {
			t.Errorf("%q: %v", names, err)
		}
	}
}

func TestRowsAreSorted(t *testing.T) {
	for by, want := range map[string][]int{"id": {2, 9, 10}, "-id": {10, 9, 2}, "name": {10, 9, 2}, "-name": {9, 10, 2}, "odd": {9, 10, 2}} {
		rows := []line{{10, "a"}, {2, ""}, {9, "b"}}
		if err := Sort(lineColumns(), rows, by); err != nil {
			t.Error(err)
		}
		var got []int
		for _, r := range rows {
			got = append(got, r.id)
		}
		if !slices.Equal(got, want) {
			t.Errorf("by %s: %v, want %v", by, got, want)
		}
	}
	if Sort(lineColumns(), []line{}, "-age") == nil {
		t.Error("sorted by a column that is not there")
	}
}

// On a narrow terminal, the least important columns are dropped first. Then cells are shortened.
func TestColumnsThatDoNotFitAreDropped(t *testing.T) {
	for width, want := range map[int]string{
		0: "ID  NAME       ODD\n#3  long name  odd\n", 15: "ID  NAME    ODD\n#3  short   odd\n", 12: "ID  NAME\n#3  short\n", 5: "ID\n#3\n",
	} {
		var b bytes.Buffer
		out := &Terminal{W: bufio.NewWriter(&b), TTY: width > 0, Width: width}
		cols := lineColumns()
		cols[1].Extra = false
		WriteTable(out, cols, []line{{3, "long name"}}, false)
		out.W.Flush()
		if b.String() != want {
			t.Errorf("width %d:\n%swant\n%s", width, b.String(), want)
		}
	}
}

// Columns that were added in later versions are last in csv, so that the others keep their places.
func TestLateColumnsAreLastInCSV(t *testing.T) {
	cols := lineColumns()
	cols[0].Late = true
	var b bytes.Buffer
	if err := WriteCSV(&b, cols, []line{{1, "x"}}); err != nil || b.String() != "name_text,id,odd\nx,1,odd\n" {
		t.Errorf("%q, %v", b.String(), err)
	}
}
