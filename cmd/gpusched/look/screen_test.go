package look

import (
	"bufio"
	"bytes"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/term"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func screen(width int, colour bool) (*term.Terminal, *bytes.Buffer) {
	var b bytes.Buffer
	return &term.Terminal{W: bufio.NewWriterSize(&b, 1), TTY: width > 0, Width: width, Colour: colour, Now: noon}, &b
}
