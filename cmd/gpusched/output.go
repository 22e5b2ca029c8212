package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/gpusched/gpusched/daemon/api"
)

// outputFlags choose the form of what a command found.
type outputFlags struct {
	Output string `short:"o" group:"output" placeholder:"FORMAT" enum:"table,wide,json,jsonl,csv,ids" default:"table" help:"Form of the output: table, wide (more columns, nothing cut), json (the whole answer), jsonl (one object a line), csv, or ids (only the numbers, 7_3 for a task)."`
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
type report struct {
	doc   any                   // json
	items []any                 // jsonl
	ids   []string              // ids
	csv   func(io.Writer) error // csv
	text  func(wide bool)       // table and wide
}

// show prints the report in the form that was asked for (invariant 1).
func (a *app) show(o outputFlags, r report) error {
	w := a.out.W
	switch o.form() {
	case "json":
		return writeJSON(w, r.doc, "  ")
	case "jsonl":
		for _, item := range r.items {
			if err := writeJSON(w, item, ""); err != nil {
				return err
			}
		}
	case "csv":
		return r.csv(w)
	case "ids":
		for _, id := range r.ids {
			fmt.Fprintln(w, id)
		}
	default:
		r.text(o.form() == "wide")
	}
	return nil
}

func writeJSON(w io.Writer, v any, indent string) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	return enc.Encode(v)
}

// jobLine is one job on a line of its own, which names its schema.
type jobLine struct {
	Schema string `json:"schema"`
	api.Job
}

// gpuLine is one GPU on a line of its own.
type gpuLine struct {
	Schema string `json:"schema"`
	api.GPU
}

func jobLines(jobs []api.Job) (items []any, ids []string) {
	for _, j := range jobs {
		items, ids = append(items, jobLine{api.Schema, j}), append(ids, nameOfJob(j))
	}
	return items, ids
}

func gpuLines(gpus []api.GPU) (items []any, ids []string) {
	for _, g := range gpus {
		items, ids = append(items, gpuLine{api.Schema, g}), append(ids, fmt.Sprint(g.Index))
	}
	return items, ids
}

// jobsDoc is the document of commands that act on several jobs.
type jobsDoc struct {
	Schema string    `json:"schema"`
	Jobs   []api.Job `json:"jobs"`
}
