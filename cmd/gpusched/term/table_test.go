package term

import (
	"bufio"
	"io"
	"testing"
)

// Each cell is formatted only once, whatever the width of the terminal, because formatting the
// cells is the slowest part.
func TestEachCellIsComputedOnce(t *testing.T) {
	for _, width := range []int{0, 20, 200} {
		asked := 0
		cell := func(row int) string { asked++; return "some text" }
		cols := []Column[int]{
			{Title: "A", Cell: cell}, {Title: "B", Maybe: true, Least: 4, Cell: cell}, {Title: "C", Drop: 1, Cell: cell},
			{Title: "W", Extra: true, Cell: cell}, {Key: "csv", Cell: cell},
		}
		WriteTable(&Terminal{W: bufio.NewWriter(io.Discard), Width: width}, cols, make([]int, 100), false)
		if asked != 3*100 {
			t.Errorf("width %d: 300 cells were computed %d times", width, asked)
		}
	}
}
