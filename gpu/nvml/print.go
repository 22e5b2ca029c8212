package nvml

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// PrintSymbols writes which functions the library has, and what does not work without the others.
func PrintSymbols(w io.Writer, symbols []Symbol) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, s := range symbols {
		state := "present"
		switch {
		case !s.Present && s.Loss == "":
			state = "MISSING: nothing works without it"
		case !s.Present:
			state = "missing, and with it: " + s.Loss
		}
		fmt.Fprintf(t, "%s\t%s\n", s.Name, state)
	}
	return t.Flush()
}
