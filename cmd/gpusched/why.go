package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// whyCmd says why a job waits, or what becomes of the GPUs.
type whyCmd struct {
	Plan   bool          `name:"plan" help:"A picture of the next hours of each GPU instead: what runs and until when, who comes then, reservations and drains. Without ID, of the whole machine alone."`
	Within time.Duration `name:"within" type:"span" placeholder:"TIME" help:"With --plan: how far ahead, such as 6h or 2d, up to 7d. Default: as far as there is something to see."`
	outputFlags
	againFlags

	ID string `arg:"" optional:"" name:"id" help:"The job. Default: the one you submitted last; with --plan, none."`
}

func (c *whyCmd) Run(ctx context.Context, a *app) error {
	return c.again(ctx, a, c.outputFlags, func() error { return c.show(ctx, a) })
}

func (c *whyCmd) show(ctx context.Context, a *app) error {
	switch {
	case c.Plan:
		return c.plan(ctx, a)
	case c.Within != 0:
		return usagef("--within says how far ahead --plan goes")
	}
	reply, err := a.job(ctx, cmp.Or(c.ID, "@"))
	if err != nil {
		return err
	}
	j := reply.Job
	return report[api.Reason]{
		doc: reply, rows: j.Reasons, cols: reasonColumns, ids: []string{number(j.ID)},
		text: func(bool) { a.writeWhy(j, a.ahead(ctx, j)) },
	}.show(a, c.outputFlags)
}

func (a *app) writeWhy(j api.Job, first []api.Job) {
	switch {
	case j.Result != nil:
		a.out.Printf("job %s has ended: %s\n", term.Clean(nameOfJob(j)), term.Clean(j.Result.Sentence))
	case j.State != job.Queued:
		a.out.Printf("job %s is not waiting: it is %s\n", term.Clean(nameOfJob(j)), term.Clean(a.stateLine(j)))
	case len(j.Reasons) == 0:
		a.out.Printf("job %s is queued and is about to start\n", term.Clean(nameOfJob(j)))
	default:
		a.out.Printf("job %s waits since %s\n", term.Clean(nameOfJob(j)), a.out.Moment(changedAt(j)))
		for _, r := range j.Reasons {
			a.out.Printf("  %s %s\n", term.Pad(reasonPlace(r), 8, false), term.Clean(a.out.Local(r.Sentence)))
		}
		a.writeOutlook(j, first)
	}
}

// ahead are the first jobs of the queue, where the job is in it.
func (a *app) ahead(ctx context.Context, j api.Job) []api.Job {
	if j.State != job.Queued {
		return nil
	}
	status, _ := a.client.Status(ctx) // that is an extra; the answer stands without it
	return status.Waiting
}

// writeOutlook says when the job is expected to start and what is before it, as
// far as the first jobs of the queue tell.
func (a *app) writeOutlook(j api.Job, first []api.Job) {
	switch {
	case !j.ExpectedStart.IsZero():
		a.out.Printf("it is expected to start %s\n", startText(a.out, j))
	case j.StartUnknown:
		a.out.Printf("%s\n", unknownStart)
	}
	place := slices.IndexFunc(first, func(w api.Job) bool { return w.ID == j.ID })
	switch {
	case len(first) == 0:
	case place == 0:
		a.out.Printf("it is first in the queue\n")
	case place < 0:
		a.out.Printf("at least %d jobs are ahead of it in the queue\n", len(first))
	default:
		before := joined(first[:place], ", ", func(w api.Job) string {
			return fmt.Sprintf("%s (%s, %s)", nameOfJob(w), w.User, w.Name)
		})
		a.out.Printf("ahead of it in the queue: %s\n", term.Clean(before))
	}
}

// reasonPlace is what the reason is about.
func reasonPlace(r api.Reason) string {
	if r.GPU == job.NoGPU {
		return "machine"
	}
	return "GPU " + strconv.Itoa(r.GPU)
}

var reasonColumns = []term.Column[api.Reason]{
	{Key: "code", Cell: func(r api.Reason) string { return r.Code }},
	{Key: "gpu", Cell: func(r api.Reason) string {
		if r.GPU == job.NoGPU {
			return ""
		}
		return strconv.Itoa(r.GPU)
	}},
	{Key: "job", Cell: func(r api.Reason) string { return number(r.Job) }},
	{Key: "need", Cell: func(r api.Reason) string { return number(r.Need) }},
	{Key: "have", Cell: func(r api.Reason) string { return number(r.Have) }},
	{Key: "sentence", Cell: func(r api.Reason) string { return r.Sentence }},
}
