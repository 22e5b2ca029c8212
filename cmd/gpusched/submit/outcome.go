package submit

import (
	"context"
	"fmt"
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/logs"
	"github.com/gpusched/gpusched/cmd/gpusched/look"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// report prints the answer to a submission.
func (c *Cmd) report(ctx context.Context, a *cli.App, reply api.SubmitReply) error {
	j := reply.Job
	if a.As.Submitted != "" && !c.DryRun {
		if !a.As.Silent {
			a.Out.Printf("%s", strings.Replace(a.As.Submitted, "%d", j.ID.String(), 1))
		}
		return nil
	}
	if c.Quiet && c.Form() == "table" && !a.Documents() {
		if !c.DryRun {
			a.Out.Printf("%s\n", cli.NumberOfJob(j))
		}
		return nil
	}
	if !c.DryRun && j.Engine == "" && a.Host == "" && a.Asked == nil && logs.OutOfReach(a) &&
		logs.PathOf(logs.WithLog(ctx, a, j)) == "" {
		if hidden := logs.HiddenOutput(a); hidden != nil {
			a.NoteOnce("you will not see what the job prints: " + hidden.Error())
		} else {
			a.NoteOnce("what the job prints may go to the system's journal, which you can't read (" + logs.InFile + ")")
		}
	}
	if c.staysWithJob(reply) && !a.Documents() {
		return nil
	}
	said := c.planned(a.Out, reply)
	if reply.Sentence = said; !c.DryRun {
		outcome := c.outcome(a.Out, reply)
		said, reply.Sentence = fmt.Sprintf("job %s %s", cli.NumberOfJob(j), outcome), fmt.Sprintf("job %s %s", j.ID, outcome)
	}
	return a.JobReport(reply, []api.Job{j}, func(bool) {
		a.Out.Printf("%s\n", term.Clean(said))
		if c.DryRun {
			c.writePlan(a.Out, reply)
		}
	}).Show(a, c.OutputFlags)
}

// staysWithJob reports whether the command stays with the job until the job ends. Such a command
// prints the outcome of the submission on standard error.
func (c *Cmd) staysWithJob(reply api.SubmitReply) bool {
	return c.Wait && !c.DryRun && c.Form() == "table" && reply.Job.Array == nil && !reply.Known
}

// outcome describes in a few words what became of a new job.
func (c *Cmd) outcome(t *term.Terminal, reply api.SubmitReply) string {
	j := reply.Job
	switch {
	case reply.Known && c.Once && j.State == job.Completed:
		return "is the same and has completed: nothing queued (--dedup)"
	case reply.Known && c.Once:
		return fmt.Sprintf("is the same and is %s: nothing queued (--dedup)", j.State)
	case j.State == job.Queued && j.Array != nil && j.Array.Live > 0 && !reply.Known:
		return "queued: " + cli.Tasks(j.Array) + "; " + atOnce(t, j)
	case j.State == job.Queued:
		return "queued" + cli.Waiting(t, j)
	case reply.Known:
		return string(j.State)
	case len(j.GPUs) > 0:
		return "queued, starts on " + cli.GPUNames(j.GPUs)
	case j.Array != nil: // all tasks of the array have become jobs
		return "queued: " + cli.Tasks(j.Array) + ", starting now"
	}
	return "queued, starts now"
}

// atOnce says how many tasks of a new array start at once, and why the next task waits. If the next
// task waits because of the array's own limit, the reason is left out.
func atOnce(t *term.Terminal, j api.Job) string {
	text := "the first starts now"
	if j.Array.Live > 1 {
		text = fmt.Sprintf("the first %d start now", j.Array.Live)
	}
	if j.Array.Limit > 0 && j.Array.Live >= j.Array.Limit {
		return text
	}
	j.Array = nil
	if rest := cli.Waiting(t, j); rest != "" {
		text += ", the next waits" + rest
	}
	return text
}

// planned says where the job of a dry run would run.
func (c *Cmd) planned(t *term.Terminal, reply api.SubmitReply) string {
	j := reply.Job
	switch {
	case j.State == job.Queued && cli.Waiting(t, j) != "":
		return "the job would wait" + cli.Waiting(t, j)
	case len(j.GPUs) > 0:
		return "the job would start now on " + cli.GPUNames(j.GPUs)
	}
	return "the job would start now"
}

// writePlan prints the remaining lines of a dry run: what the job requests and, with -v, its
// systemd unit.
func (c *Cmd) writePlan(t *term.Terminal, reply api.SubmitReply) {
	t.Printf("it asks for %s\n", term.Clean(look.Asks(reply.Job)))
	if len(reply.Unit) == 0 {
		t.Printf("nothing is queued\n")
		return
	}
	if !c.Verbose {
		t.Printf("nothing is queued; -v also shows its systemd unit\n")
		return
	}
	t.Printf("\nits unit:\n")
	for _, p := range reply.Unit {
		t.Printf("  %s=%s\n", term.Clean(p.Name), term.Clean(p.Value))
	}
}
