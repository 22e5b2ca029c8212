package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
)

// outputFlags choose the form of what a command found.
type outputFlags struct {
	Output string `short:"o" group:"output" placeholder:"FORMAT" enum:"table,wide,json,jsonl,csv,ids" default:"table" help:"Form of the output: table, wide (more columns, nothing cut), json (the whole answer), jsonl (one object per line), csv, or ids (only the numbers, 7_3 for a task)."`
	JSON   bool   `name:"json" group:"output" help:"The same as -o json."`
}

// form is the form that was asked for.
func (o outputFlags) form() string {
	if o.JSON {
		return "json"
	}
	return o.Output
}

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
	switch o.form() {
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
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	return enc.Encode(v)
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
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// joined is each with the texts joined.
func joined[T any](list []T, sep string, f func(T) string) string {
	return strings.Join(each(list, f), sep)
}
