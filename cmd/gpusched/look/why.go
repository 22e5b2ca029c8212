package client

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/words"
)

// whyCmd says why a job waits, or what becomes of the GPUs.
type whyCmd struct {
	Plan   bool          `name:"plan"`
	Within time.Duration `name:"within" type:"span" placeholder:"TIME"`
	outputFlags
	againFlags

	ID string `arg:"" optional:"" name:"id" help:"The job. Default: the one you submitted last; with --plan, none."`
}

func (c *whyCmd) About() About {
	about := About{
		Host: ShownHere, Hosts: Together, Jobs: InTurn, Slurm: ForSlurm, Usual: true,
		Offers: Offers{Fits: func(j api.Job) bool { return j.State == job.Queued }},
	}
	if c.Plan { // which is of a machine
		about.Host, about.Hosts = RunThere, InTurn
	}
	return about
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
	reply, err := fetch(ctx, a, func() (whyAnswer, error) { return c.ask(ctx, a) })
	if err != nil {
		return err
	}
	j, doc := reply.Job, any(reply.JobReply)
	if a.documents() {
		doc = reply
	}
	return report[api.Reason]{
		doc: doc, rows: j.Reasons, cols: reasonColumns, ids: []string{numberOfJob(j)},
		text: func(bool) {
			a.writeWhy(j)
			if j.State == job.Queued && len(j.Reasons) > 0 {
				lines := a.writeQueue(j, reply.Queue) + len(j.Reasons) + 1
				a.writeSmallPlan(reply.Plan, j, lines)
			}
		},
	}.show(a, c.outputFlags)
}

// whyAnswer is what why shows.
type whyAnswer struct {
	api.JobReply
	Plan *api.PlanReply `json:"plan,omitempty"` // of a job that waits, where a picture of it may be drawn
}

func (all *whyAnswer) nameAll(host string) { nameReply(host, &all.JobReply) }

func (c *whyCmd) ask(ctx context.Context, a *app) (all whyAnswer, err error) {
	all.JobReply, err = a.ask(ctx, cmp.Or(c.ID, "@"), api.JobQuery{Why: true})
	if err != nil || a.other() != nil || !c.isTable() || !a.out.TTY && !a.documents() || all.Job.ExpectedStart.IsZero() {
		return all, err
	}
	if p, err := api.Plan(ctx, a.client, farPlan); err == nil { // an extra: the answer stands without it
		all.Plan = &p
	}
	return all, nil
}

func (a *app) writeWhy(j api.Job) {
	switch {
	case j.Result != nil:
		a.out.Printf("job %s has ended: %s\n", term.Clean(nameOfJob(j)), term.Clean(j.Cause(a.out.Reader())))
	case waitsAgain(j):
		first := "The first of tasks " + j.Array.WaitingTasks
		if j.Array.Waiting == 1 {
			first = "Task " + j.Array.WaitingTasks
		}
		a.out.Printf("job %s: %s. %s waits for this:\n", term.Clean(nameOfJob(j)), progress(j), first)
		a.writeReasons(j)
	case j.State != job.Queued:
		a.out.Printf("job %s is not waiting: it is %s\n", term.Clean(nameOfJob(j)), term.Clean(stateLine(j, false)))
	case len(j.Reasons) == 0:
		a.out.Printf("job %s is queued and is about to start\n", term.Clean(nameOfJob(j)))
	default:
		a.out.Printf("job %s has waited since %s\n", term.Clean(nameOfJob(j)), a.out.Moment(changedAt(j)))
		a.writeReasons(j)
		if j.Array != nil && j.Array.Waiting > 0 {
			a.out.Printf("tasks %s are waiting again, each for itself: 'gpusched why %s_N'\n", j.Array.WaitingTasks, term.Clean(nameOfJob(j)))
		}
	}
}

func (a *app) writeReasons(j api.Job) {
	read := a.out.Reader()
	read.Host = j.Host
	for _, r := range j.Reasons {
		line := "  " + term.Pad(reasonPlace(r), 8, false) + " " + term.Clean(r.Text(read))
		a.out.Printf("%s\n", a.out.Wrap(line, strings.Repeat(" ", 11)))
	}
}

// writeQueue says when a job is expected to start, what is before it in the queue, and what would
// have it start sooner. It returns in how many lines.
func (a *app) writeQueue(j api.Job, q *api.Queue) (lines int) {
	say := func(format string, args ...any) {
		text := a.out.Wrap(fmt.Sprintf(format, args...), "    ")
		a.out.Printf("%s\n", text)
		lines += 1 + strings.Count(text, "\n")
	}
	name := term.Clean(nameOfJob(j))
	switch {
	case !j.ExpectedStart.IsZero():
		say("job %s is expected to start %s", name, startText(a.out, j))
	case j.StartUnknown:
		say("%s", unknownStart(j))
	}
	if q == nil { // Slurm does not tell what is before a job
		return lines
	}
	if len(q.Ahead) == 0 && j.HeldBy == "" && len(j.After) == 0 && j.NotBefore.IsZero() {
		say("no job is ahead of job %s in the queue", name)
	}
	if len(q.Ahead) > 0 {
		say("ahead of job %s in the queue:", name)
	}
	for _, x := range q.Ahead {
		who := []string{x.User, x.Name, wish(x.GPUMilli)}
		say("  %s (%s): %s", term.Clean(x.Called), term.Clean(strings.Join(who, ", ")), term.Clean(x.Sentence))
	}
	if q.Omitted > 0 {
		say("  and %s more", strconv.Itoa(q.Omitted))
	}
	if len(q.Sooner) > 0 {
		say("job %s would start sooner with one of these:", name)
	}
	return lines + a.writeSooner(name, q.Sooner[:min(len(q.Sooner), maxSooner)])
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

// writeSooner says when a job would start with each of some changes, and what to type. It returns in how many
// lines. What is to be typed is not broken.
func (a *app) writeSooner(name string, list []api.Sooner) int {
	when, width := make([]string, len(list)), 0
	for i, s := range list {
		if when[i] = "now:"; !s.Now {
			when[i] = "about " + a.out.Clock(s.ExpectedStart) + ":"
		}
		width = max(width, len(when[i]))
	}
	for i, s := range list {
		what := "gpusched update " + name + " " + strings.Join(s.Options, " ")
		if len(s.Without) > 0 {
			what = "submit it again without " + strings.Join(s.Without, ", ")
		}
		if s.If != "" {
			what += "   " + s.If
		}
		a.out.Printf("  %s %s\n", term.Pad(when[i], width, false), what)
	}
	return len(list)
}

// reasonPlace is what the reason is about.
func reasonPlace(r api.Reason) string {
	switch {
	case r.GPU != job.NoGPU:
		return "GPU " + strconv.Itoa(r.GPU)
	case words.OfJob(r.Code):
		return "job"
	}
	return "machine"
}

var reasonColumns = []term.Column[api.Reason]{
	{Key: "code", Cell: func(r api.Reason) string { return string(r.Code) }},
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
