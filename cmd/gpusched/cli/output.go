package client

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

// outputFlags choose the form of what a command found.
type outputFlags struct {
	Output string `short:"o" group:"output" placeholder:"FORMAT" type:"form" default:"table"`
	JSON   bool   `name:"json" group:"output"`
}

// noForm follows what was taken for one.
const noForm = " is no form of output"

// forms are those that need no names.
var forms = []string{"table", "wide", "json", "jsonl", "csv", "ids"}

// parseForm reads a form of output, with names or without.
func parseForm(word string) (string, error) {
	form, names, named := strings.Cut(word, "=")
	switch {
	case !named && slices.Contains(forms, form):
		return word, nil
	case named && names != "" && (form == formColumns || form == "csv"):
		return word, nil
	}
	return "", fmt.Errorf("%q"+noForm+": use table, wide, json, jsonl, csv, ids, cols=NAME,… or csv=NAME,…", word)
}

// formColumns is a table of the columns that are named.
const formColumns = "cols"

// form is the form that was asked for.
func (o outputFlags) form() string {
	if o.JSON {
		return "json"
	}
	form, _, _ := strings.Cut(o.Output, "=")
	return form
}

// columns are the names of the columns that were asked for; none: it was not said.
func (o outputFlags) columns() []string {
	_, names, named := strings.Cut(o.Output, "=")
	if !named || o.JSON {
		return nil
	}
	return strings.Split(names, ",")
}

// isTable reports whether it is for people.
func (o outputFlags) isTable() bool {
	return slices.Contains([]string{"table", "wide", formColumns}, o.form())
}

// isBrief reports whether what became of a job is told by its name and result alone.
func (o outputFlags) isBrief() bool { return o.form() == "table" || o.form() == "ids" }

// report is what a command found, in every form that can be asked for.
type report[T any] struct {
	doc   any              // json
	whole bool             // jsonl is the document, too, on one line
	rows  []T              // jsonl, and the rows of csv
	cols  []term.Column[T] // csv
	ids   []string         // ids
	text  func(wide bool)  // table and wide
}

// show prints the report in the form that was asked for (invariant 1).
func (r report[T]) show(a *app, o outputFlags) error {
	w := a.out.W
	if a.documents() {
		return writeJSON(w, r.doc, "")
	}
	if names := o.columns(); names != nil {
		cols, err := term.Choose(r.cols, names)
		if err != nil {
			return refuse(api.CodeUsage, "", "--output: %s", err)
		}
		r.cols = cols
	}
	switch o.form() {
	case formColumns:
		term.WriteTable(a.out, r.cols, r.rows, false)
	case "json":
		return writeJSON(w, r.doc, "  ")
	case "jsonl":
		return r.lines(w)
	case "csv":
		return term.WriteCSV(w, r.cols, r.rows)
	case "ids":
		for _, id := range r.ids {
			fmt.Fprintln(w, id)
		}
	default:
		r.text(o.form() == "wide")
	}
	return nil
}

// lines prints each row on a line of its own, which names its schema.
func (r report[T]) lines(w io.Writer) error {
	if r.whole {
		return writeJSON(w, r.doc, "")
	}
	for _, row := range r.rows {
		var line bytes.Buffer
		if err := writeJSON(&line, row, ""); err != nil {
			return err
		}
		fmt.Fprintf(w, `{"schema":%q,%s`, api.Schema, line.Bytes()[1:])
	}
	return nil
}

func writeJSON(w io.Writer, v any, indent string) error {
	enc := json.NewEncoder(inert{w})
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	return enc.Encode(v)
}

// inert writes JSON so that a terminal acts on nothing in it: controls and the like that JSON lets stand are
// escaped, which a reader of JSON does not notice. Each write has whole characters.
type inert struct{ w io.Writer }

func (i inert) Write(text []byte) (int, error) {
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

// jobReport is a report of jobs.
func (a *app) jobReport(doc any, jobs []api.Job, text func(wide bool)) report[api.Job] {
	return report[api.Job]{doc: doc, rows: jobs, cols: a.jobColumns(), ids: each(jobs, nameOfJob), text: text}
}

// each returns what f makes of each of a list.
func each[T, U any](list []T, f func(T) U) []U {
	out := make([]U, len(list))
	for i, x := range list {
		out[i] = f(x)
	}
	return out
}

// count is a number of things: "1 task", "2 tasks".
func count(n int, thing string) string {
	return job.Count(int64(n), thing)
}

// joined is each with the texts joined.
func joined[T any](list []T, sep string, f func(T) string) string {
	return strings.Join(each(list, f), sep)
}
