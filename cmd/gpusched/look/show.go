package look

import (
	"context"
	"fmt"
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched/afar"
	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/words"
	"github.com/gpusched/gpusched/units/contract"
)

type ShowCmd struct {
	Env bool `name:"env"`
	cli.OutputFlags

	ID string `arg:"" optional:"" default:"@" name:"id" help:"The job. Default: the one you submitted last."`
}

func (*ShowCmd) About() cli.About {
	return cli.About{Host: cli.ShownHere, Hosts: cli.OneAtATime, Jobs: cli.InTurn, Slurm: cli.ForSlurm, Usual: true,
		Columns: cli.JobColumnNames}
}

func (c *ShowCmd) Run(ctx context.Context, a *cli.App) error {
	reply, err := afar.Fetch(ctx, a, func() (api.JobReply, error) { return c.ask(ctx, a) })
	if err != nil {
		return err
	}
	j := reply.Job
	if c.Env && !a.Documents() {
		return writeEnv(a, j)
	}
	if reply.Results != nil {
		reply.Results.ExpectedEnd = expectedEnd(j, reply.Results, a.Out.Now)
	}
	return cli.Report[api.Job]{
		Doc: reply, Whole: true, Rows: []api.Job{j}, Cols: a.JobColumns(), IDs: []string{cli.NumberOfJob(j)},
		Text: func(wide bool) {
			writeJob(a, j, reply.Attempts, reply.Messages, wide)
			writeResults(a, j, reply.Results, wide)
		},
	}.Show(a, c.OutputFlags)
}

func (c *ShowCmd) ask(ctx context.Context, a *cli.App) (api.JobReply, error) {
	reply, err := a.Job(ctx, c.ID)
	if err == nil && reply.Job.Array != nil && !c.Env {
		reply, err = api.Show(ctx, a.Client, cli.NameOfJob(reply.Job), api.JobQuery{Results: true})
	}
	if err == nil && !c.Env && strings.HasPrefix(c.Form(), "json") {
		one := []api.Job{reply.Job}
		_ = a.AddPIDs(ctx, one) // if this fails, the rest is still useful
		reply.Job = one[0]
	}
	return reply, err
}

func writeEnv(a *cli.App, j api.Job) error {
	if j.Private == nil {
		return cli.Refuse(api.CodeForbidden, "",
			"the environment of job %s is for %s and administrators only", cli.NameOfJob(j), j.User)
	}
	if j.State.Terminal() && len(j.Private.Env) == 0 {
		a.Note("the environment of job %s was deleted when the job ended", cli.NameOfJob(j))
	}
	for _, entry := range j.Private.Env {
		if a.Out.TTY {
			entry = term.Clean(entry)
		}
		a.Out.Printf("%s\n", entry)
	}
	return nil
}

// writeJob prints a job. Each fact has a line of its own.
func writeJob(a *cli.App, j api.Job, attempts []api.Attempt, messages []api.Message, wide bool) {
	t := a.Out
	fact := func(name, value string) {
		if value != "" {
			t.Printf("  %s %s\n", t.Paint(term.Dim, term.Pad(name, 11, false)), term.Clean(value))
		}
	}
	t.Printf("%s %s\n", t.Paint(term.Bold, "job "+term.Clean(cli.NameOfJob(j))), term.Clean(j.Name))
	fact("task", taskLine(j))
	fact("array", arrayLine(j))
	fact("state", stateLine(j, true))
	fact("why", j.Because(t.Reader()))
	fact("expected", expectedLine(a, j))
	fact("result", resultLine(j, t.Reader()))
	fact("user", userLine(j))
	fact("asks", Asks(j))
	fact("waits for", cli.DependencyLine(j.After))
	fact("begin", beginLine(a, j))
	fact("submitted", t.Moment(j.SubmittedAt))
	fact("queued", queuedLine(a, j))
	fact("started", startedLine(a, j))
	fact("suspended", suspendedLine(a, j))
	fact("parked", parkedLine(j))
	if j.StartedAt.IsZero() {
		fact("ended", t.Moment(j.EndedAt))
	}
	fact("used", usedResources(j))
	fact("gpu memory", promiseLine(j.GPUs))
	if wide {
		fact("told", hintsLine(j))
	}
	for _, g := range j.GPUs {
		fact("gpu use", cli.UseLine(g, len(j.GPUs) > 1))
	}
	for _, w := range j.Warnings {
		fact("warning", "it "+w.Sentence)
	}
	fact("tags", cli.TagLine(j.Tags))
	fact("comment", j.Comment)
	fact("notify", notifyLine(j.Notify, j.Private))
	for _, m := range messages {
		fact("message", messageLine(a, m))
	}
	fact("unit", cli.UnitLine(j))
	fact("not enforced", cli.NotEnforced(j))
	if p := j.Private; p != nil {
		fact("command", p.Command)
		fact("parameters", cli.Joined(p.Params, " ", func(p job.Param) string {
			return p.Name + "=" + strings.Join(p.Values, ",")
		}))
		fact("directory", string(p.Dir))
		fact("code", codeLine(&p.Snapshot))
		fact("log", logLine(p.Log))
		fact("scratch", scratchLine(j))
		fact("screen", screenLine(j))
		if j.Manager != cli.EngineSlurm { // Slurm reports neither the environment nor the umask
			fact("environment", environmentLine(p, j.State.Terminal()))
		}
		fact("image", imageLine(&p.Container))
		for _, m := range p.Container.Mounts {
			fact("mount", mountLine(m))
		}
		fact("modules", strings.Join(p.Setup.Modules, ", "))
		fact("conda", p.Setup.Conda)
		fact("venv", p.Setup.Venv)
		fact("set-up", p.Setup.Command)
		fact("with", withLine(p))
		if j.Manager != cli.EngineSlurm {
			fact("umask", fmt.Sprintf("%04o", p.Umask))
		}
	}
	for _, at := range attempts {
		if len(attempts) > 1 || j.State == job.Queued {
			fact(fmt.Sprintf("attempt %d", at.Number), a.AttemptLine(at))
		}
	}
}

// resultLine says how a job ended. It leaves out the state, since the line above shows that.
func resultLine(j api.Job, r words.Reader) string {
	r.Host = j.Host
	switch {
	case j.Result == nil:
		return ""
	case !j.Result.Said.IsZero():
		return r.Say(j.Result.Said)
	}
	return r.Ending(&j.Result.Result)
}

func stateLine(j api.Job, uuids bool) string {
	text := j.StateWord()
	if len(j.GPUs) > 0 {
		if text += " on "; j.State.Terminal() {
			text = j.StateWord() + ", ran on "
		}
		text += cli.GPUNames(j.GPUs)
	}
	if len(j.GPUs) > 0 && uuids {
		text += " (" + cli.Joined(j.GPUs, ", ", func(g api.Allocation) string { return g.UUID }) + ")"
		text = strings.Replace(text, ") (", "; ", 1) // joins the brackets around the share and the UUID
	}
	if j.StopFor != 0 && !j.State.Terminal() {
		text += fmt.Sprintf(", makes room for job %d", j.StopFor)
	}
	return text
}

// Asks lists what a job requests.
func Asks(j api.Job) string {
	var parts cli.Phrases
	switch {
	case j.GPUMilli == 0:
		parts.Add(true, "no GPU")
	case j.GPUMilli == job.WholeGPU:
		parts.Add(true, "1 GPU")
	case j.GPUMilli < job.WholeGPU:
		parts.Add(true, "%s of a GPU", job.FormatGPUs(j.GPUMilli))
	default:
		parts.Add(true, "%s GPUs", job.FormatGPUs(j.GPUMilli))
	}
	parts.Add(j.GPUType != "", "of type %s", j.GPUType)
	parts.Add(len(j.GPUIDs) > 0, "exactly %s", job.FormatGPUList(j.GPUIDs))
	parts.Add(j.Spread, "on the emptiest that fits")
	parts.Add(j.MPS && !j.MPSFair, "shared by MPS")
	parts.Add(j.MPSFair, "shared by MPS, with its part of the cores")
	parts.Add(j.MaxLoadPercent > 0, "at most %d %% busy", j.MaxLoadPercent)
	parts.Add(j.MaxUsedPercent > 0, "at most %d %% of its memory in use", j.MaxUsedPercent)
	parts.Add(len(j.GPUsFrom) > 0, "from %s", job.FormatGPUList(j.GPUsFrom))
	parts.Add(len(j.ExcludeGPUs) > 0, "not on %s", job.FormatGPUList(j.ExcludeGPUs))
	parts.Add(j.GPUMemBytes > 0, "%s of GPU memory free%s", job.FormatSize(j.GPUMemBytes), autoNote(j))
	if j.MemLentBytes > 0 {
		parts.Add(true, "%s host memory (the site's default; %s of it lent to other jobs)", job.FormatSize(j.MemBytes), job.FormatSize(j.MemLentBytes))
	} else if j.MemDefaulted {
		parts.Add(j.MemBytes > 0, "%s host memory (the site's default)", job.FormatSize(j.MemBytes))
	} else {
		parts.Add(j.MemBytes > 0, "%s host memory", job.FormatSize(j.MemBytes))
	}
	parts.Add(j.GPUMemAuto && j.GPUMemBytes == 0, "GPU memory as in earlier runs (none is known)")
	parts.Add(j.CPUs > 0, "%v", job.CPUs(j.CPUs))
	parts.Add(j.CPUs == 0 && j.PromisedCPUs > 0, "%v counted for its GPUs (no limit)", job.CPUs(j.PromisedCPUs))
	parts.Add(j.TimeLimit > 0, "time limit %s", cli.LimitOf(j))
	parts.Add(j.GraceTime() > 0, "%s grace", term.Age(j.GraceTime().Duration()))
	parts.Add(true, "priority %s", j.Priority)
	parts.Add(j.MayRequeue(), "restarts after a reboot")
	parts = append(parts, lifeOptions(j)...)
	return strings.Join(parts, ", ")
}

// autoNote says that a job's requested GPU memory was derived from earlier runs.
func autoNote(j api.Job) string {
	if j.GPUMemAuto {
		return " (as in earlier runs)"
	}
	return ""
}

// usedResources lists the resources that a job has used.
func usedResources(j api.Job) string {
	var parts cli.Phrases
	parts.Add(j.PeakMemBytes > 0, "%s host memory at its peak", job.FormatSize(j.PeakMemBytes))
	parts.Add(j.CPUSeconds >= 0.05, "%.1fs CPU time", j.CPUSeconds)
	return strings.Join(parts, ", ")
}

// scratchLine names the job's scratch directory, unless the directory was removed at the job's end.
func scratchLine(j api.Job) string {
	switch {
	case j.State == job.Completed || j.State == job.Cancelled || j.State == job.Queued:
		return ""
	case j.Private.Scratch != "" && j.State.Terminal():
		return j.Private.Scratch + " (kept for a while after a failure)"
	}
	return j.Private.Scratch
}

// logLine names the file that output is written to in addition to the journal.
func logLine(l contract.Log) string {
	if l.Truncate {
		return l.Path + " (emptied first)"
	}
	return l.Path
}

// environmentLine describes the recorded environment. The record is deleted when the job ends.
func environmentLine(p *api.Private, ended bool) string {
	mode := string(p.EnvMode)
	if p.EnvMode == contract.EnvInherit {
		mode = "inherited"
	}
	switch n := len(p.Env); {
	case ended && n == 0:
		return mode + ", deleted when the job ended"
	case mode == "inherited":
		return fmt.Sprintf("inherited, %s (print them with --env)", cli.Count(n, "variable"))
	case n == 0:
		return mode
	default:
		return fmt.Sprintf("%s, and %s (print them with --env)", mode, cli.Count(n, "variable"))
	}
}

// withLine lists what the job has besides its command, such as a terminal or a set-up.
func withLine(p *api.Private) string {
	var parts cli.Phrases
	s := p.Setup
	parts.Add(p.TTY, "a terminal")
	parts.Add(s.CUDAArg, "--cuda and its GPUs in the command")
	parts.Add(s.Compat != "", "the variables of %s", s.Compat)
	return strings.Join(parts, ", ")
}

// codeLine says of what the job's code is a copy.
func codeLine(s *contract.Snapshot) string {
	const shown = 12 // digits of a hash
	switch {
	case s.IsZero():
		return ""
	case s.Commit == "":
		return "a copy of " + s.Source
	case s.Changed == 0:
		return fmt.Sprintf("commit %.*s of %s", shown, s.Commit, s.Source)
	}
	return fmt.Sprintf("commit %.*s of %s with %s changed (%.*s)", shown, s.Commit, s.Source, cli.Count(s.Changed, "file"), shown, s.Diff)
}

// imageLine names the image of a job's container, its engine and the options for the engine.
func imageLine(c *contract.Container) string {
	if c.IsZero() {
		return ""
	}
	parts := cli.Phrases{string(c.Engine)}
	parts.Add(c.KeepIDs, "as yourself")
	parts.Add(len(c.Args) > 0, "with %s", cli.Joined(c.Args, " ", cli.ShellWord))
	return c.Image + " (" + strings.Join(parts, ", ") + ")"
}

// mountLine names the source of a mount. If the mount has another place in the image, it names that
// place, too.
func mountLine(m contract.Mount) string {
	var parts cli.Phrases
	parts.Add(true, "%s", m.Source)
	parts.Add(m.Target != m.Source, "as %s", m.Target)
	parts.Add(m.ReadOnly, "for reading only")
	return strings.Join(parts, ", ")
}

// userLine names the job's user. If another account has the uid now, it names that account, too.
func userLine(j api.Job) string {
	if j.UIDNow != "" {
		return fmt.Sprintf("%s (%d, which is %s's now)", j.User, j.UID, j.UIDNow)
	}
	return fmt.Sprintf("%s (%d)", j.User, j.UID)
}

// notifyLine lists the messages that are sent about a job, and their recipients.
func notifyLine(list []job.Notify, p *api.Private) string {
	var parts []string
	for i, n := range list {
		text := cli.Joined(n.On, ",", func(e job.NotifyEvent) string { return string(e) }) + " by " + string(n.Way)
		to := n.Webhook
		if p != nil && i < len(p.NotifyTo) && p.NotifyTo[i] != "" {
			to = p.NotifyTo[i]
		}
		if to != "" {
			text += " to " + to
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

// messageLine says whether a message was sent.
func messageLine(a *cli.App, m api.Message) string {
	text := fmt.Sprintf("%s by %s: ", m.Event, m.Way)
	switch {
	case m.Sent:
		return text + "sent " + a.Out.Moment(m.Closed)
	case !m.Closed.IsZero():
		return text + "not sent: " + m.Sentence
	case m.Tries > 0:
		return text + fmt.Sprintf("not sent so far, again %s: %s", a.Out.Clock(m.Next), m.Sentence)
	}
	return text + "to be sent"
}

// screenLine says how to attach to a job in a session of GNU screen.
func screenLine(j api.Job) string {
	switch {
	case !j.Screen:
		return ""
	case j.State == job.Running && j.Private.Screen != "":
		return j.Private.Screen + " ('screen -r " + j.Private.Screen + "' attaches)"
	}
	return "in a session while it runs"
}
