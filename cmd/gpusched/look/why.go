package look

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/afar"
	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/words"
)

// WhyCmd says why a job waits, or shows the plan of the GPUs.
type WhyCmd struct {
	Plan   bool          `name:"plan"`
	Within time.Duration `name:"within" type:"span" placeholder:"TIME"`
	cli.OutputFlags
	cli.AgainFlags

	ID string `arg:"" optional:"" name:"id" help:"The job. Default: the one you submitted last; with --plan, none."`
}

func (c *WhyCmd) About() cli.About {
	about := cli.About{
		Host: cli.ShownHere, Hosts: cli.Together, Jobs: cli.InTurn, Slurm: cli.ForSlurm, Usual: true,
		Offers: cli.Offers{Fits: func(j api.Job) bool { return j.State == job.Queued }},
	}
	if c.Plan { // a plan covers one machine only
		about.Host, about.Hosts = cli.RunThere, cli.InTurn
	}
	return about
}

func (c *WhyCmd) Run(ctx context.Context, a *cli.App) error {
	return c.Again(ctx, a, c.OutputFlags, func() error { return c.show(ctx, a) })
}

func (c *WhyCmd) show(ctx context.Context, a *cli.App) error {
	switch {
	case c.Plan:
		return c.drawPlan(ctx, a)
	case c.Within != 0:
		return cli.Usagef("--within is the length of the plan: add --plan")
	}
	reply, err := afar.Fetch(ctx, a, func() (whyAnswer, error) { return c.ask(ctx, a) })
	if err != nil {
		return err
	}
	j, doc := reply.Job, any(reply.JobReply)
	if a.Documents() {
		doc = reply
	}
	return cli.Report[api.Reason]{
		Doc: doc, Rows: j.Reasons, Cols: reasonColumns, IDs: []string{cli.NumberOfJob(j)},
		Text: func(bool) {
			writeWhy(a, j)
			if j.State == job.Queued && len(j.Reasons) > 0 {
				lines := writeQueue(a, j, reply.Queue) + len(j.Reasons) + 1
				writeSmallPlan(a, reply.Plan, j, lines)
			}
		},
	}.Show(a, c.OutputFlags)
}

// whyAnswer is the JSON document of 'gpusched why'.
type whyAnswer struct {
	api.JobReply
	Plan *api.PlanReply `json:"plan,omitempty"` // set for a waiting job if the plan may be drawn
}

func (all *whyAnswer) NameAll(host string) { afar.NameReply(host, &all.JobReply) }

func (c *WhyCmd) ask(ctx context.Context, a *cli.App) (all whyAnswer, err error) {
	all.JobReply, err = a.Ask(ctx, cmp.Or(c.ID, "@"), api.JobQuery{Why: true})
	if err != nil || a.Other() != nil || !c.IsTable() || !a.Out.TTY && !a.Documents() || all.Job.ExpectedStart.IsZero() {
		return all, err
	}
	if p, err := api.Plan(ctx, a.Client, farPlan); err == nil { // if this fails, the answer is complete without a plan
		all.Plan = &p
	}
	return all, nil
}

func writeWhy(a *cli.App, j api.Job) {
	switch {
	case j.Result != nil:
		a.Out.Printf("job %s has ended: %s\n", term.Clean(cli.NameOfJob(j)), term.Clean(j.Cause(a.Out.Reader())))
	case cli.WaitsAgain(j):
		first := "The first of tasks " + j.Array.WaitingTasks
		if j.Array.Waiting == 1 {
			first = "Task " + j.Array.WaitingTasks
		}
		a.Out.Printf("job %s: %s. %s waits for this:\n", term.Clean(cli.NameOfJob(j)), cli.Progress(j), first)
		writeReasons(a, j)
	case j.Parked != nil && j.Parked.State == job.IsParked:
		next := ""
		if !j.Parked.Wants {
			next = ", and " + returnText(j)
		}
		a.Out.Printf("job %s is %s%s\n", term.Clean(cli.NameOfJob(j)), term.Clean(j.Halted(a.Out.Reader())), term.Clean(next))
		writeReasons(a, j)
		if !j.ExpectedStart.IsZero() {
			a.Out.Printf("it is expected to have them again %s\n", cli.StartText(a.Out, j))
		}
	case j.State != job.Queued:
		a.Out.Printf("job %s is not waiting: it is %s\n", term.Clean(cli.NameOfJob(j)), term.Clean(stateLine(j, false)))
	case len(j.Reasons) == 0:
		a.Out.Printf("job %s is queued and is about to start\n", term.Clean(cli.NameOfJob(j)))
	default:
		a.Out.Printf("job %s has waited since %s\n", term.Clean(cli.NameOfJob(j)), a.Out.Moment(cli.ChangedAt(j)))
		writeReasons(a, j)
		if j.Array != nil && j.Array.Waiting > 0 {
			a.Out.Printf("tasks %s wait again, each for its own reason: 'gpusched why %s_N'\n", j.Array.WaitingTasks, term.Clean(cli.NameOfJob(j)))
		}
	}
}

func writeReasons(a *cli.App, j api.Job) {
	read := a.Out.Reader()
	read.Host = j.Host
	for _, r := range j.Reasons {
		line := "  " + term.Pad(reasonPlace(r), 8, false) + " " + term.Clean(r.Text(read))
		a.Out.Printf("%s\n", a.Out.Wrap(line, strings.Repeat(" ", 11)))
	}
}

// writeQueue prints when a job is expected to start, which jobs are ahead of it, and which changes
// would make it start sooner. It returns the number of printed lines.
func writeQueue(a *cli.App, j api.Job, q *api.Queue) (lines int) {
	say := func(format string, args ...any) {
		text := a.Out.Wrap(fmt.Sprintf(format, args...), "    ")
		a.Out.Printf("%s\n", text)
		lines += 1 + strings.Count(text, "\n")
	}
	name := term.Clean(cli.NameOfJob(j))
	switch {
	case !j.ExpectedStart.IsZero():
		say("job %s is expected to start %s", name, cli.StartText(a.Out, j))
	case j.StartUnknown:
		say("%s", term.Clean(cli.UnknownStart(j)))
	}
	if q == nil { // Slurm does not say which jobs are ahead
		return lines
	}
	if len(q.Ahead) == 0 && j.HeldBy == "" && len(j.After) == 0 && j.NotBefore.IsZero() {
		say("no job is ahead of job %s in the queue", name)
	}
	if len(q.Ahead) > 0 {
		say("ahead of job %s in the queue:", name)
	}
	for _, x := range q.Ahead {
		who := []string{x.User, x.Name, cli.GPURequest(x.GPUMilli)}
		say("  %s (%s): %s", term.Clean(x.Called), term.Clean(strings.Join(who, ", ")), term.Clean(x.Sentence))
	}
	if q.Omitted > 0 {
		say("  and %s more", strconv.Itoa(q.Omitted))
	}
	if len(q.Sooner) > 0 {
		say("job %s would start sooner with one of these:", name)
	}
	return lines + writeSooner(a, name, q.Sooner[:min(len(q.Sooner), maxSooner)])
}

// maxSooner is the largest number of changes that 'gpusched why' suggests.
const maxSooner = 5

// writeSooner prints each change, the start time that it would lead to, and the command for it. It
// returns the number of lines. It never breaks a command across lines.
func writeSooner(a *cli.App, name string, list []api.Sooner) int {
	when, width := make([]string, len(list)), 0
	for i, s := range list {
		if when[i] = "now:"; !s.Now {
			when[i] = "about " + a.Out.Clock(s.ExpectedStart) + ":"
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
		a.Out.Printf("  %s %s\n", term.Pad(when[i], width, false), what)
	}
	return len(list)
}

// reasonPlace says what a reason is about: a GPU, the job or the machine.
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
	{Key: "job", Cell: func(r api.Reason) string { return cli.Number(r.Job) }},
	{Key: "need", Cell: func(r api.Reason) string { return cli.Number(r.Need) }},
	{Key: "have", Cell: func(r api.Reason) string { return cli.Number(r.Have) }},
	{Key: "sentence", Cell: func(r api.Reason) string { return r.Sentence }},
}
