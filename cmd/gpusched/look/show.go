package client

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/words"
	"github.com/gpusched/gpusched/units/contract"
)

// showCmd shows one job.
type showCmd struct {
	Env bool `name:"env"`
	outputFlags

	ID string `arg:"" optional:"" default:"@" name:"id" help:"The job. Default: the one you submitted last."`
}

func (*showCmd) About() About {
	return About{Host: ShownHere, Hosts: OneAtATime, Jobs: InTurn, Slurm: ForSlurm, Usual: true, Columns: jobColumnNames}
}

func (c *showCmd) Run(ctx context.Context, a *app) error {
	reply, err := fetch(ctx, a, func() (api.JobReply, error) { return c.ask(ctx, a) })
	if err != nil {
		return err
	}
	j := reply.Job
	if c.Env && !a.documents() {
		return a.writeEnv(j)
	}
	if reply.Results != nil {
		reply.Results.ExpectedEnd = expectedEnd(j, reply.Results, a.out.Now)
	}
	return report[api.Job]{
		doc: reply, whole: true, rows: []api.Job{j}, cols: a.jobColumns(), ids: []string{numberOfJob(j)},
		text: func(wide bool) {
			a.writeJob(j, reply.Attempts, reply.Messages)
			a.writeResults(j, reply.Results, wide)
		},
	}.show(a, c.outputFlags)
}

func (c *showCmd) ask(ctx context.Context, a *app) (api.JobReply, error) {
	reply, err := a.job(ctx, c.ID)
	if err == nil && reply.Job.Array != nil && !c.Env {
		reply, err = api.Show(ctx, a.client, nameOfJob(reply.Job), api.JobQuery{Results: true})
	}
	if err == nil && !c.Env && strings.HasPrefix(c.form(), "json") {
		one := []api.Job{reply.Job}
		_ = a.addPIDs(ctx, one) // without, the rest is of use
		reply.Job = one[0]
	}
	return reply, err
}

func (a *app) writeEnv(j api.Job) error {
	if j.Private == nil {
		return refuse(api.CodeForbidden, "",
			"the environment of job %s is for %s and administrators only", nameOfJob(j), j.User)
	}
	if j.State.Terminal() && len(j.Private.Env) == 0 {
		a.note("the environment of job %s was deleted with the job's end", nameOfJob(j))
	}
	for _, entry := range j.Private.Env {
		if a.out.TTY {
			entry = term.Clean(entry)
		}
		a.out.Printf("%s\n", entry)
	}
	return nil
}

// writeJob prints a job, a fact a line.
func (a *app) writeJob(j api.Job, attempts []api.Attempt, messages []api.Message) {
	t := a.out
	fact := func(name, value string) {
		if value != "" {
			t.Printf("  %s %s\n", t.Paint(term.Dim, term.Pad(name, 11, false)), term.Clean(value))
		}
	}
	t.Printf("%s %s\n", t.Paint(term.Bold, "job "+term.Clean(nameOfJob(j))), term.Clean(j.Name))
	fact("task", taskLine(j))
	fact("array", arrayLine(j))
	fact("state", stateLine(j, true))
	fact("why", j.Because(t.Reader()))
	fact("expected", a.expectedLine(j))
	fact("result", resultLine(j, t.Reader()))
	fact("user", userLine(j))
	fact("asks", asks(j))
	fact("waits for", dependencyLine(j.After))
	fact("begin", a.beginLine(j))
	fact("submitted", t.Moment(j.SubmittedAt))
	fact("queued", a.queuedLine(j))
	fact("started", a.startedLine(j))
	fact("suspended", a.suspendedLine(j))
	if j.StartedAt.IsZero() {
		fact("ended", t.Moment(j.EndedAt))
	}
	fact("used", used(j))
	fact("gpu memory", promiseLine(j.GPUs))
	for _, g := range j.GPUs {
		fact("gpu use", useLine(g, len(j.GPUs) > 1))
	}
	for _, w := range j.Warnings {
		fact("warning", "it "+w.Sentence)
	}
	fact("tags", tagLine(j.Tags))
	fact("comment", j.Comment)
	fact("notify", notifyLine(j.Notify, j.Private))
	for _, m := range messages {
		fact("message", a.messageLine(m))
	}
	fact("unit", unitLine(j))
	fact("not enforced", notEnforced(j))
	if p := j.Private; p != nil {
		fact("command", p.Command)
		fact("parameters", parameterLine(p.Params))
		fact("directory", string(p.Dir))
		fact("log", logLine(p.Log))
		fact("screen", screenLine(j))
		if j.Manager != engineSlurm { // Slurm tells neither this nor the umask
			fact("environment", environmentLine(p, j.State.Terminal()))
		}
		fact("modules", strings.Join(p.Setup.Modules, ", "))
		fact("conda", p.Setup.Conda)
		fact("venv", p.Setup.Venv)
		fact("set-up", p.Setup.Command)
		fact("with", withLine(p))
		if j.Manager != engineSlurm {
			fact("umask", fmt.Sprintf("%04o", p.Umask))
		}
	}
	for _, at := range attempts {
		if len(attempts) > 1 || j.State == job.Queued {
			fact(fmt.Sprintf("attempt %d", at.Number), a.attemptLine(at))
		}
	}
}

// resultLine is how a job ended, without its state, which is a line above.
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
		text += gpuNames(j.GPUs)
	}
	if len(j.GPUs) > 0 && uuids {
		text += " (" + joined(j.GPUs, ", ", func(g api.Allocation) string { return g.UUID }) + ")"
		text = strings.Replace(text, ") (", "; ", 1) // the share and the UUID in one pair of brackets
	}
	if j.StopFor != 0 && !j.State.Terminal() {
		text += fmt.Sprintf(", makes room for job %d", j.StopFor)
	}
	return text
}

// asks says what a job asked for.
func asks(j api.Job) string {
	var parts phrases
	switch {
	case j.GPUMilli == 0:
		parts.add(true, "no GPU")
	case j.GPUMilli == job.WholeGPU:
		parts.add(true, "1 GPU")
	case j.GPUMilli < job.WholeGPU:
		parts.add(true, "%s of a GPU", job.FormatGPUs(j.GPUMilli))
	default:
		parts.add(true, "%s GPUs", job.FormatGPUs(j.GPUMilli))
	}
	parts.add(j.GPUType != "", "of type %s", j.GPUType)
	parts.add(len(j.GPUIDs) > 0, "exactly %s", job.FormatGPUList(j.GPUIDs))
	parts.add(j.Spread, "on the emptiest that fits")
	parts.add(j.MaxLoadPercent > 0, "at most %d %% busy", j.MaxLoadPercent)
	parts.add(j.MaxUsedPercent > 0, "at most %d %% of its memory in use", j.MaxUsedPercent)
	parts.add(len(j.GPUsFrom) > 0, "from %s", job.FormatGPUList(j.GPUsFrom))
	parts.add(len(j.ExcludeGPUs) > 0, "not on %s", job.FormatGPUList(j.ExcludeGPUs))
	parts.add(j.GPUMemBytes > 0, "%s of GPU memory free%s", job.FormatSize(j.GPUMemBytes), autoNote(j))
	if j.MemDefaulted {
		parts.add(j.MemBytes > 0, "%s host memory (the site's default)", job.FormatSize(j.MemBytes))
	} else {
		parts.add(j.MemBytes > 0, "%s host memory", job.FormatSize(j.MemBytes))
	}
	parts.add(j.GPUMemAuto && j.GPUMemBytes == 0, "GPU memory as earlier runs took (none is known)")
	parts.add(j.CPUs > 0, "%v", job.CPUs(j.CPUs))
	parts.add(j.CPUs == 0 && j.PromisedCPUs > 0, "%v for its GPUs (no limit)", job.CPUs(j.PromisedCPUs))
	parts.add(j.TimeLimit > 0, "%s at most", limitOf(j))
	parts.add(j.GraceTime() > 0, "%s grace", term.Age(j.GraceTime().Duration()))
	parts.add(true, "priority %s", j.Priority)
	parts.add(j.MayRequeue(), "started again after a reboot")
	parts = append(parts, lifecycle(j)...)
	return strings.Join(parts, ", ")
}

// autoNote says where the GPU memory that a job asks is from.
func autoNote(j api.Job) string {
	if j.GPUMemAuto {
		return " (as earlier runs took)"
	}
	return ""
}

// used says what a job has used.
func used(j api.Job) string {
	var parts phrases
	parts.add(j.PeakMemBytes > 0, "%s host memory at its peak", job.FormatSize(j.PeakMemBytes))
	parts.add(j.CPUSeconds >= 0.05, "%.1fs CPU time", j.CPUSeconds)
	return strings.Join(parts, ", ")
}

func tagLine(list map[string]string) string {
	parts := each(slices.Collect(maps.Keys(list)), func(k string) string { return k + "=" + list[k] })
	slices.Sort(parts)
	return strings.Join(parts, " ")
}

// logLine says where the output is besides the journal.
func logLine(l contract.Log) string {
	if l.Truncate {
		return l.Path + " (emptied first)"
	}
	return l.Path
}

// environmentLine says what is kept of the environment: with the job's end all of
// it is deleted.
func environmentLine(p *api.Private, ended bool) string {
	mode := string(p.EnvMode)
	if p.EnvMode == contract.EnvInherit {
		mode = "inherited"
	}
	switch n := len(p.Env); {
	case ended && n == 0:
		return mode + ", deleted with the job's end"
	case mode == "inherited":
		return fmt.Sprintf("inherited, %s (print them with --env)", count(n, "variable"))
	case n == 0:
		return mode
	default:
		return fmt.Sprintf("%s, and %s (print them with --env)", mode, count(n, "variable"))
	}
}

func (a *app) attemptLine(at api.Attempt) string {
	var parts phrases
	parts.add(len(at.GPUs) > 0, "on %s", gpuNames(at.GPUs))
	parts.add(!at.StartedAt.IsZero(), "started %s", a.out.Moment(at.StartedAt))
	parts.add(!at.EndedAt.IsZero(), "ended %s", a.out.Moment(at.EndedAt))
	peak := peakOf(at.GPUs)
	parts.add(peak > 0, "%s GPU memory at its peak", job.FormatSize(peak))
	if at.Result != nil {
		parts = append(parts, a.out.Reader().Shown(at.Result))
	}
	return strings.Join(parts, ", ")
}

// withLine says what else was asked for around the command.
func withLine(p *api.Private) string {
	var parts phrases
	s := p.Setup
	parts.add(p.TTY, "a terminal")
	parts.add(s.CUDAArg, "--cuda and its GPUs in the command")
	parts.add(s.Compat != "", "the variables of %s", s.Compat)
	return strings.Join(parts, ", ")
}

// userLine is whose job it is, and whose its number is now.
func userLine(j api.Job) string {
	if j.UIDNow != "" {
		return fmt.Sprintf("%s (%d, which is %s's now)", j.User, j.UID, j.UIDNow)
	}
	return fmt.Sprintf("%s (%d)", j.User, j.UID)
}
