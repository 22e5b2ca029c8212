package main

import (
	"cmp"
	"context"
	"strconv"
	"strings"
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
	reply, err := a.ask(ctx, cmp.Or(c.ID, "@"), a.client.Why)
	if err != nil {
		return err
	}
	j := reply.Job
	return report[api.Reason]{
		doc: reply, rows: j.Reasons, cols: reasonColumns, ids: []string{number(j.ID)},
		text: func(bool) {
			a.writeWhy(j)
			if j.State == job.Queued && len(j.Reasons) > 0 {
				lines := a.writeQueue(j, reply.Queue) + len(j.Reasons) + 1
				a.writeSmallPlan(ctx, j, lines)
			}
		},
	}.show(a, c.outputFlags)
}

func (a *app) writeWhy(j api.Job) {
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
	}
}

// writeQueue says when a job is expected to start, what is before it in the queue, and what would
// have it start sooner. It returns in how many lines.
func (a *app) writeQueue(j api.Job, q *api.Queue) (lines int) {
	say := func(format string, args ...any) {
		a.out.Printf(format+"\n", args...)
		lines++
	}
	switch {
	case !j.ExpectedStart.IsZero():
		say("it is expected to start %s", startText(a.out, j))
	case j.StartUnknown:
		say("%s", unknownStart)
	}
	if q == nil { // an older daemon
		return lines
	}
	if len(q.Ahead) == 0 && j.HeldBy == "" && len(j.After) == 0 && j.NotBefore.IsZero() {
		say("nobody is ahead of it in the queue")
	}
	if len(q.Ahead) > 0 {
		say("ahead of it in the queue:")
	}
	for _, x := range q.Ahead {
		who := []string{x.User, x.Name, wish(x.GPUMilli)}
		say("  %s (%s): %s", term.Clean(x.Called), term.Clean(strings.Join(who, ", ")), term.Clean(a.out.Local(x.Sentence)))
	}
	if q.Omitted > 0 {
		say("  and %s more", strconv.Itoa(q.Omitted))
	}
	if len(q.Sooner) > 0 {
		say("it would start sooner:")
	}
	for _, s := range q.Sooner[:min(len(q.Sooner), maxSooner)] {
		say("  %s", a.soonerLine(j, s))
	}
	return lines
}

// maxSooner is how many changes are named with which a job would start sooner.
const maxSooner = 5

// wish is how many GPUs a job asks.
func wish(milli int) string {
	switch milli {
	case 0:
		return "no GPU"
	case job.WholeGPU:
		return "1 GPU"
	}
	return job.FormatGPUs(milli) + " GPUs"
}

// soonerLine is when a job would start with a change, and what to type.
func (a *app) soonerLine(j api.Job, s api.Sooner) string {
	when := "now"
	if !s.Now {
		when = "about " + a.out.Clock(s.ExpectedStart)
	}
	if len(s.Without) > 0 {
		return term.Pad(when+":", 14, false) + " submit it again without " + strings.Join(s.Without, ", ")
	}
	return term.Pad(when+":", 14, false) + " gpusched update " + term.Clean(nameOfJob(j)) + " " + strings.Join(s.Options, " ")
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
