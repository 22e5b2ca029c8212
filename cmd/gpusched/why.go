package main

import (
	"context"
	"io"
	"strconv"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// whyCmd says why a job waits.
type whyCmd struct {
	outputFlags

	ID string `arg:"" name:"id" help:"The job."`
}

// Help is the text below the options.
func (whyCmd) Help() string {
	return `What the job lacks on the machine as a whole comes first, then each GPU with what keeps the job off it. A reason goes away by itself, except where it names an administrator or a fault.

` + aboutIDs
}

// Run says why.
func (c *whyCmd) Run(ctx context.Context, a *app) error {
	id, err := a.resolveOne(ctx, c.ID)
	if err != nil {
		return err
	}
	reply, err := a.client.Job(ctx, id)
	if err != nil {
		return err
	}
	j := reply.Job
	items := make([]any, len(j.Reasons))
	for i, r := range j.Reasons {
		items[i] = reasonLine{api.Schema, r}
	}
	return a.show(c.outputFlags, report{
		doc: reply, items: items, ids: []string{number(j.ID)},
		csv:  func(w io.Writer) error { return writeCSV(w, reasonColumns, j.Reasons) },
		text: func(bool) { a.writeWhy(j) },
	})
}

// reasonLine is one reason on a line of its own.
type reasonLine struct {
	Schema string `json:"schema"`
	api.Reason
}

func (a *app) writeWhy(j api.Job) {
	switch {
	case j.Result != nil:
		a.out.printf("job %d has ended: %s\n", j.ID, clean(j.Result.Sentence))
	case j.State != string(job.Queued):
		a.out.printf("job %d does not wait: it is %s\n", j.ID, clean(a.stateLine(j)))
	case len(j.Reasons) == 0:
		a.out.printf("job %d is queued and is about to start\n", j.ID)
	default:
		a.out.printf("job %d waits since %s\n", j.ID, a.out.when(j.SubmittedAt))
		for _, r := range j.Reasons {
			a.out.printf("  %s %s\n", pad(reasonPlace(r), 8, false), clean(r.Sentence))
		}
	}
}

// reasonPlace is what the reason is about.
func reasonPlace(r api.Reason) string {
	if r.GPU == job.NoGPU {
		return "machine"
	}
	return "GPU " + strconv.Itoa(r.GPU)
}

var reasonColumns = []column[api.Reason]{
	{key: "code", cell: func(r api.Reason) string { return r.Code }},
	{key: "gpu", cell: func(r api.Reason) string {
		if r.GPU == job.NoGPU {
			return ""
		}
		return strconv.Itoa(r.GPU)
	}},
	{key: "job", cell: func(r api.Reason) string { return number(r.Job) }},
	{key: "need", cell: func(r api.Reason) string { return number(r.Need) }},
	{key: "have", cell: func(r api.Reason) string { return number(r.Have) }},
	{key: "sentence", cell: func(r api.Reason) string { return r.Sentence }},
}
