package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// OutputFlags select the form of a command's output.
type OutputFlags struct {
	Output string `short:"o" group:"output" placeholder:"FORMAT" type:"form" default:"table"`
	JSON   bool   `name:"json" group:"output"`
}

// NoForm is the end of the error message for an unknown output format.
const NoForm = " is not an output format"

// Forms lists the output formats that take no column names.
var Forms = []string{"table", "wide", "json", "jsonl", "csv", "ids"}

// parseForm parses an output format, with or without column names.
func parseForm(word string) (string, error) {
	form, names, named := strings.Cut(word, "=")
	switch {
	case !named && slices.Contains(Forms, form):
		return word, nil
	case named && names != "" && (form == FormColumns || form == "csv"):
		return word, nil
	}
	return "", fmt.Errorf("%q"+NoForm+": use table, wide, json, jsonl, csv, ids, cols=NAME,… or csv=NAME,…", word)
}

// FormColumns is the output format of a table with chosen columns.
const FormColumns = "cols"

// Form returns the requested output format.
func (o OutputFlags) Form() string {
	if o.JSON {
		return "json"
	}
	form, _, _ := strings.Cut(o.Output, "=")
	return form
}

// Columns returns the requested column names, or nil if there are none.
func (o OutputFlags) Columns() []string {
	_, names, named := strings.Cut(o.Output, "=")
	if !named || o.JSON {
		return nil
	}
	return strings.Split(names, ",")
}

// IsTable reports whether the output format is for people.
func (o OutputFlags) IsTable() bool {
	return slices.Contains([]string{"table", "wide", FormColumns}, o.Form())
}

// IsBrief reports whether the output format needs only a job's name and result.
func (o OutputFlags) IsBrief() bool { return o.Form() == "table" || o.Form() == "ids" }

// Report is the output of a command in every format.
type Report[T any] struct {
	Doc   any              // for json
	Whole bool             // jsonl prints Doc as well, on one line
	Rows  []T              // for jsonl and csv
	Cols  []term.Column[T] // for csv
	IDs   []string         // for ids
	Text  func(wide bool)  // for table and wide
}

// Show prints the report in the requested format (invariant 1).
func (r Report[T]) Show(a *App, o OutputFlags) error {
	w := a.Out.W
	if a.Documents() {
		return WriteJSON(w, r.Doc, "")
	}
	if names := o.Columns(); names != nil {
		cols, err := term.Choose(r.Cols, names)
		if err != nil {
			return Refuse(api.CodeUsage, "", "--output: %s", err)
		}
		r.Cols = cols
	}
	switch o.Form() {
	case FormColumns:
		term.WriteTable(a.Out, r.Cols, r.Rows, false)
	case "json":
		return WriteJSON(w, r.Doc, "  ")
	case "jsonl":
		return r.Lines(w)
	case "csv":
		return term.WriteCSV(w, r.Cols, r.Rows)
	case "ids":
		for _, id := range r.IDs {
			fmt.Fprintln(w, id)
		}
	default:
		r.Text(o.Form() == "wide")
	}
	return nil
}

// Lines prints each row as JSON on its own line. Each line names the schema.
func (r Report[T]) Lines(w io.Writer) error {
	if r.Whole {
		return WriteJSON(w, r.Doc, "")
	}
	for _, row := range r.Rows {
		var line bytes.Buffer
		if err := WriteJSON(&line, row, ""); err != nil {
			return err
		}
		fmt.Fprintf(w, `{"schema":%q,%s`, api.Schema, line.Bytes()[1:])
	}
	return nil
}

func WriteJSON(w io.Writer, v any, indent string) error {
	enc := json.NewEncoder(safeJSON{w})
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	return enc.Encode(v)
}

// safeJSON escapes characters that JSON permits but that a terminal would act on, such as control
// characters. A JSON parser reads the same text. Each Write must contain whole characters.
type safeJSON struct{ w io.Writer }

func (i safeJSON) Write(text []byte) (int, error) {
	done := 0
	for at := 0; at < len(text); {
		r, size := rune(text[at]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRune(text[at:])
		}
		if r < 0x7f || r != 0x7f && !unicode.Is(unicode.C, r) {
			at += size
			continue
		}
		if _, err := i.w.Write(text[done:at]); err != nil {
			return done, err
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			if _, err := fmt.Fprintf(i.w, `\u%04x`, unit); err != nil {
				return done, err
			}
		}
		at += size
		done = at
	}
	_, err := i.w.Write(text[done:])
	return len(text), err
}

func (a *App) JobReport(doc any, jobs []api.Job, text func(wide bool)) Report[api.Job] {
	return Report[api.Job]{Doc: doc, Rows: jobs, Cols: a.JobColumns(), IDs: job.Each(jobs, NameOfJob), Text: text}
}

// Count formats a number of things: "1 task", "2 tasks".
func Count(n int, thing string) string {
	return job.Count(int64(n), thing)
}

// Joined applies f to each element of a list and joins the results.
func Joined[T any](list []T, sep string, f func(T) string) string {
	return strings.Join(job.Each(list, f), sep)
}
