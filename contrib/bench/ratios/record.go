package ratios

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// A Row is how one figure stood to another in a run.
type Row struct {
	Part    string `toml:"part"`    // of the bench
	Figure  string `toml:"figure"`  // what was measured
	Against string `toml:"against"` // what it was compared with
	Interval
	More   bool   `toml:"more,omitempty"` // more is better, as with rates
	Rounds int    `toml:"rounds"`
	Ours   string `toml:"ours"` // the two medians, for people
	Theirs string `toml:"theirs"`
	When   string `toml:"when"` // the day, the commit, the load and the machine
}

func (r Row) key() string { return r.Part + "\x00" + r.Figure + "\x00" + r.Against }

// Name is the row in words.
func (r Row) Name() string { return r.Figure + " against " + r.Against }

// A Record is the rows of a run, or those that were accepted.
type Record struct {
	Parts []string `toml:"parts,omitempty"` // those that were run to their end
	Rows  []Row    `toml:"row"`
}

// Parse reads a record.
func Parse(text []byte) (r Record, err error) {
	d := toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return r, fmt.Errorf("reading ratios: %w", err)
	}
	seen := map[string]bool{}
	for _, row := range r.Rows {
		if seen[row.key()] {
			return r, fmt.Errorf("reading ratios: %s is there twice", row.Name())
		}
		seen[row.key()] = true
	}
	return r, nil
}

// Text writes a record, with a comment above it.
func (r Record) Text(comment string) ([]byte, error) {
	var out bytes.Buffer
	for line := range strings.Lines(comment) {
		out.WriteString("# " + line)
	}
	err := toml.NewEncoder(&out).Encode(r)
	return out.Bytes(), err
}

// Accept is the accepted rows after a run: a part that was run gives all its rows, the others stay, in their order.
// With wider, a row that is in both gets an interval that holds both: for a run that is as good as the accepted one.
func Accept(accepted, run Record, wider bool) (all Record) {
	was, parts := map[string]Row{}, []string{}
	for _, row := range accepted.Rows {
		was[row.key()] = row
	}
	for _, row := range slices.Concat(accepted.Rows, run.Rows) {
		if !slices.Contains(parts, row.Part) {
			parts = append(parts, row.Part)
		}
	}
	for _, part := range parts {
		from := accepted.Rows
		if slices.Contains(run.Parts, part) {
			from = run.Rows
		}
		for _, row := range from {
			if row.Part != part {
				continue
			}
			if old, ok := was[row.key()]; ok && wider {
				row.Low, row.High = min(row.Low, old.Low), max(row.High, old.High)
			}
			all.Rows = append(all.Rows, row)
		}
	}
	return all
}
