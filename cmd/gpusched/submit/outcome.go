package client

import (
	"context"
	"fmt"
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// report says what became of the submission.
func (c *submitCmd) report(ctx context.Context, a *app, reply api.SubmitReply) error {
	j := reply.Job
	if a.as.submitted != "" && !c.DryRun {
		if !a.as.silent {
			a.out.Printf("%s", strings.Replace(a.as.submitted, "%d", j.ID.String(), 1))
		}
		return nil
	}
	if c.Quiet && c.form() == "table" && !a.documents() {
		if !c.DryRun {
			a.out.Printf("%s\n", numberOfJob(j))
		}
		return nil
	}
	if !c.DryRun && j.Engine == "" && a.host == "" && a.asked == nil && a.outOfReach() && logOf(a.withLog(ctx, j)) == "" {
		if hidden := a.hiddenOutput(); hidden != nil {
			a.noteOnce("you will not see what the job prints: " + hidden.Error())
		} else {
			a.noteOnce("what the job prints may go to the system's journal, which you can't read (" + inFile + ")")
		}
	}
	if c.staysWith(reply) && !a.documents() {
		return nil
	}
	said := c.planned(a.out, reply)
	if reply.Sentence = said; !c.DryRun {
		outcome := c.outcome(a.out, reply)
		said, reply.Sentence = fmt.Sprintf("job %s %s", numberOfJob(j), outcome), fmt.Sprintf("job %s %s", j.ID, outcome)
	}
	return a.jobReport(reply, []api.Job{j}, func(bool) {
		a.out.Printf("%s\n", term.Clean(said))
		if c.DryRun {
			c.writePlan(a.out, reply)
		}
	}).show(a, c.outputFlags)
}

// staysWith reports whether what becomes of the job is said, on standard error, by who stays with it until its end.
func (c *submitCmd) staysWith(reply api.SubmitReply) bool {
	return c.Wait && !c.DryRun && c.form() == "table" && reply.Job.Array == nil && !reply.Known
}

// outcome says in a few words what became of a job just submitted.
func (c *submitCmd) outcome(t *term.Terminal, reply api.SubmitReply) string {
	j := reply.Job
	switch {
	case reply.Known && c.Once && j.State == job.Completed:
		return "is the same and has completed: nothing queued (--dedup)"
	case reply.Known && c.Once:
		return fmt.Sprintf("is the same and is %s: nothing queued (--dedup)", j.State)
	case j.State == job.Queued && j.Array != nil && j.Array.Live > 0 && !reply.Known:
		return "queued: " + tasks(j.Array) + "; " + atOnce(t, j)
	case j.State == job.Queued:
		return "queued" + waiting(t, j)
	case reply.Known:
		return string(j.State)
	case len(j.GPUs) > 0:
		return "queued, starts on " + gpuNames(j.GPUs)
	case j.Array != nil: // all of its tasks have become jobs
		return "queued: " + tasks(j.Array) + ", starting now"
	}
	return "queued, starts now"
}

// atOnce says how many tasks of a new array start at once, and what the next one waits for if not for these.
func atOnce(t *term.Terminal, j api.Job) string {
	text := "the first starts now"
	if j.Array.Live > 1 {
		text = fmt.Sprintf("the first %d start now", j.Array.Live)
	}
	if j.Array.Limit > 0 && j.Array.Live >= j.Array.Limit {
		return text
	}
	j.Array = nil
	if rest := waiting(t, j); rest != "" {
		text += ", the next waits" + rest
	}
	return text
}

// waiting says of a job in the queue what it waits for and for how long: ": …",
// or nothing.
func waiting(t *term.Terminal, j api.Job) string {
	var parts []string
	if j.Array != nil {
		parts = append(parts, tasks(j.Array))
	}
	if why := j.Because(t.Reader()); why != "" {
		parts = append(parts, why)
	}
	switch {
	case !j.ExpectedStart.IsZero():
		parts = append(parts, "expected to start "+startText(t, j))
	case j.StartUnknown:
		parts = append(parts, unknownStart(j))
	}
	return colon(strings.Join(parts, "; "))
}

// tasks says how many tasks an array has.
func tasks(a *api.Array) string {
	text := count(a.Size, "task")
	if a.Limit > 0 {
		text += fmt.Sprintf(", %d at a time", a.Limit)
	}
	return text
}

// gpuNames is "GPU 0", "GPUs 0,2" or "GPU 2 (0.5 of it)".
func gpuNames(list []api.Allocation) string {
	names := gpuIndexes(list)
	if len(list) == 1 {
		if partial(list[0]) {
			names += " (" + job.FormatGPUs(list[0].Milli) + " of it)"
		}
		return "GPU " + names
	}
	for _, g := range list {
		if partial(g) {
			names += fmt.Sprintf(" (%s of GPU %d)", job.FormatGPUs(g.Milli), g.Index)
		}
	}
	return "GPUs " + names
}

// planned says where the job of a dry run would go.
func (c *submitCmd) planned(t *term.Terminal, reply api.SubmitReply) string {
	j := reply.Job
	switch {
	case j.State == job.Queued && waiting(t, j) != "":
		return "the job would wait" + waiting(t, j)
	case len(j.GPUs) > 0:
		return "the job would start now on " + gpuNames(j.GPUs)
	}
	return "the job would start now"
}

// writePlan shows the rest of a dry run: what the job asks, and how to see more.
func (c *submitCmd) writePlan(t *term.Terminal, reply api.SubmitReply) {
	t.Printf("it asks for %s\n", term.Clean(asks(reply.Job)))
	if len(reply.Unit) == 0 {
		t.Printf("nothing is queued\n")
		return
	}
	if !c.Verbose {
		t.Printf("nothing is queued; with -v its systemd unit is shown, too\n")
		return
	}
	t.Printf("\nits unit:\n")
	for _, p := range reply.Unit {
		t.Printf("  %s=%s\n", term.Clean(p.Name), term.Clean(p.Value))
	}
}
