package doctor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/doctor/trial"
	"github.com/gpusched/gpusched/cmd/gpusched/logs"
	"github.com/gpusched/gpusched/cmd/gpusched/look"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

// These are the limits of a test job: enough memory for a small program, and a short time, since
// something may hang.
const (
	trialMem  = 1 << 30 // CUDA needs a few hundred MiB on a large GPU
	trialTime = time.Minute
)

// A gpuTrial is a test job on one GPU, with its results.
type gpuTrial struct {
	Index  int         `json:"index"`
	UUID   string      `json:"uuid"`
	Job    job.ID      `json:"job,omitempty"`
	Health job.Health  `json:"health"`
	Waited float64     `json:"waited_seconds"` // from submission to start
	Checks []job.Check `json:"checks"`

	given trial.Given
	why   string // the reason why the job waits
}

// A trialReply is the answer as JSON.
type trialReply struct {
	Schema string      `json:"schema"`
	Health job.Health  `json:"health"`
	GPUs   []*gpuTrial `json:"gpus"`
}

// testGPUs submits all test jobs at once, waits for them, and shows their results.
func (c *Cmd) testGPUs(ctx context.Context, a *cli.App) error {
	trials, err := c.trials(ctx, a)
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	a.RestoreLimits()
	for _, t := range trials {
		if t.submit(limited, a); t.Job != 0 && t.why != "" {
			a.Note("job %d for GPU %d waits: %s", t.Job, t.Index, t.why)
		}
	}
	a.Err.W.Flush()
	var all sync.WaitGroup
	for _, t := range trials {
		all.Go(func() { t.finish(limited, a) })
	}
	all.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	reply := trialReply{Schema: api.Schema, Health: job.Healthy, GPUs: trials}
	for _, t := range trials {
		t.Health = job.Worst(t.Checks)
	}
	reply.Health = job.Worst(job.Each(trials, func(t *gpuTrial) job.Check { return job.Check{Health: t.Health} }))
	return c.showTrials(a, reply)
}

// trials returns the GPUs to test. A GPU that takes no jobs is marked as not tested.
func (c *Cmd) trials(ctx context.Context, a *cli.App) (list []*gpuTrial, err error) {
	reply, err := api.GPUs(ctx, a.Client)
	if err != nil {
		return nil, err
	}
	for _, g := range reply.GPUs {
		if len(c.GPUIDs) > 0 && !slices.Contains(c.GPUIDs, g.Index) {
			continue
		}
		t := &gpuTrial{Index: g.Index, UUID: g.UUID, given: trial.Given{
			Index: g.Index, Minor: g.Minor, UUID: g.UUID, MemBytes: trialMem, Filtered: !a.Daemon().Own,
		}}
		switch {
		case g.Paused:
			t.notTested("it is paused by "+g.PausedBy, fmt.Sprintf("'gpusched gpu resume %d', or 'undrain' after a drain", g.Index))
		case g.State.Broken():
			t.notTested(fmt.Sprintf("it is %s: %s", g.State, g.Detail(a.Err.Reader())), "see 'gpusched health'")
		}
		list = append(list, t)
	}
	if len(list) == 0 {
		return nil, cli.Refuse(api.CodeNotFound, "see 'gpusched gpus'", "there is no GPU to test")
	}
	return list, nil
}

func (t *gpuTrial) notTested(why, next string) {
	t.Checks = append(t.Checks, trial.Fail(job.Degraded, trial.Start, "not tested: "+why, next))
}

// submit queues the test job.
func (t *gpuTrial) submit(ctx context.Context, a *cli.App) {
	if len(t.Checks) > 0 {
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.notTested(err.Error(), "call gpusched by its path")
		return
	}
	no, log := false, contract.Log{Path: "none"}
	if logs.JournalHides(a, api.Job{UID: a.UID}) {
		log = contract.Log{} // the site's default log, if there is one
	}
	reply, err := a.Client.Submit(ctx, api.SubmitRequest{
		Key: api.NewKey(), Label: job.Label{Name: "doctor-test"},
		Request: job.Request{
			GPUMilli: job.WholeGPU, GPUIDs: []int{t.Index}, MemBytes: trialMem, TimeLimit: job.Span(trialTime),
			Retries: job.NoRetries, Requeue: &no,
		},
		Program: api.Program{
			Argv: api.Words{self, "doctor", "--probe"}, EnvMode: contract.EnvClean, Dir: "/", Umask: 0o077, Log: log,
		},
	})
	if err != nil {
		t.Checks = append(t.Checks, trial.Fail(job.Failing, trial.Start, "the job was refused: "+err.Error(), ""))
		return
	}
	if t.Job = reply.Job.ID; reply.Job.State == job.Queued {
		t.why = reply.Job.Because(a.Err.Reader())
	}
}

// finish waits until the job has ended, and judges its findings. If the job does not end in time,
// or if the user interrupts the command, finish cancels the job.
func (t *gpuTrial) finish(ctx context.Context, a *cli.App) {
	if t.Job == 0 {
		return
	}
	reply, err := t.wait(ctx, a)
	if err != nil {
		t.giveUp(context.WithoutCancel(ctx), a, err)
		return
	}
	reply.Job = logs.WithLog(context.WithoutCancel(ctx), a, reply.Job)
	j := reply.Job
	if j.State == job.Queued {
		j.Result = reply.Attempts[len(reply.Attempts)-1].Result
		t.cancelJob(context.WithoutCancel(ctx), a)
	}
	t.Waited = max(0, j.StartedAt.Sub(j.SubmittedAt).Seconds())
	output, unread := t.output(context.WithoutCancel(ctx), a, reply)
	if j.State != job.Completed {
		text := "the job " + a.ResultOf(j)
		if last := lastLine(output); last != "" {
			text += "; it said: " + last
		}
		t.Checks = append(t.Checks, trial.Fail(job.Failing, trial.Start, text, "see 'gpusched show "+t.Job.String()+"' and 'gpusched doctor'"))
		return
	}
	t.Checks = append(t.Checks, trial.Pass(trial.Start, fmt.Sprintf("started after %.1fs, exit code 0", t.Waited)))
	finding, found := trial.Read(output)
	switch {
	case unread != nil:
		t.Checks = append(t.Checks, trial.Fail(job.Degraded, trial.Journal, "the job's findings are unknown: "+unread.Error(), ""))
	case !found:
		t.Checks = append(t.Checks, trial.Fail(job.Failing, trial.Journal, "the journal does not have what the job printed", "see 'gpusched health'"))
	default:
		text := "it has what the job printed"
		if logs.LogServes(a, j) {
			text = "the job's log has what it printed: " + logs.PathOf(j)
		}
		t.Checks = append(t.Checks, trial.Pass(trial.Journal, text))
		t.Checks = append(t.Checks, trial.Judge(t.given, finding)...)
	}
}

// Every pollPause, doctor checks whether the job has failed to start. Without this check, the
// scheduler would retry the start until the problem is solved.
const pollPause = 2 * time.Second

// couldNotStart reports whether the last attempt failed to start. An attempt that never began
// because somebody else used the GPU does not count, since another attempt follows it.
func couldNotStart(attempts []api.Attempt) bool {
	n := len(attempts)
	return n > 0 && attempts[n-1].Result != nil && attempts[n-1].Result.Cause != job.StopTaken
}

// wait waits until the job has ended or has failed to start.
func (t *gpuTrial) wait(ctx context.Context, a *cli.App) (api.JobReply, error) {
	for {
		reply, err := api.Wait(ctx, a.Client, t.Job.String(), pollPause)
		if e := (*api.Error)(nil); !errors.As(err, &e) || e.Code != api.CodeWaitTimeout {
			return reply, err
		}
		reply, err = api.Show(ctx, a.Client, t.Job.String(), api.JobQuery{})
		if err != nil || reply.Job.State == job.Queued && couldNotStart(reply.Attempts) {
			return reply, err
		}
	}
}

func (t *gpuTrial) cancelJob(ctx context.Context, a *cli.App) {
	ctx, cancel := context.WithTimeout(ctx, cancelTime)
	defer cancel()
	if _, err := api.ActOnJob(ctx, a.Client, api.RouteCancel, t.Job.String(), api.CancelRequest{}); err != nil {
		t.Checks = append(t.Checks, trial.Fail(job.Degraded, "clean-up", "job "+t.Job.String()+" could not be cancelled: "+err.Error(), ""))
	}
}

// cancelTime is the time limit for the cancellation of a job.
const cancelTime = 10 * time.Second

// giveUp cancels a job that has not ended. It reports what the job was waiting for.
func (t *gpuTrial) giveUp(ctx context.Context, a *cli.App, reason error) {
	asking, cancel := context.WithTimeout(ctx, cancelTime)
	defer cancel()
	now, err := api.Show(asking, a.Client, t.Job.String(), api.JobQuery{})
	t.cancelJob(ctx, a)
	switch {
	case !errors.Is(reason, context.DeadlineExceeded) && !errors.Is(reason, context.Canceled) || err != nil:
		t.notTested(errors.Join(reason, err).Error(), "see 'gpusched health'")
	case now.Job.State == job.Queued:
		t.notTested("its job still waited"+a.Because(now.Job), "try again later, or wait longer with --timeout")
	default:
		t.Checks = append(t.Checks, trial.Fail(job.Failing, trial.Start, "the job did not end: it was "+string(now.Job.State),
			"see 'gpusched show "+t.Job.String()+"'"))
	}
}

// output returns the job's output, or an error if the output can't be read.
func (t *gpuTrial) output(ctx context.Context, a *cli.App, reply api.JobReply) ([]byte, error) {
	if err := logs.JournalReadable(a, reply.Job); err != nil && !logs.LogServes(a, reply.Job) {
		return nil, err
	}
	path, err := exec.LookPath("journalctl")
	if err != nil {
		return nil, err
	}
	p, list := &logs.Printer{Cmd: &logs.Cmd{}, App: a}, cli.Begun(reply)
	whole := logs.Printed(ctx, a, reply.Job)
	var text bytes.Buffer
	for len(list) > 0 {
		text.Reset()
		last := list[len(list)-1]
		if file, err := p.OpenLog(reply.Job, last); err == nil {
			_, _ = io.Copy(&text, file)
			file.Close()
		} else if logs.HasJournal(a) {
			which, lines := logs.JournalArgs(reply.Job, last), &logs.LineJoiner{W: &text}
			if err := logs.RunJournal(ctx, path, which, lines.Write); err != nil && !logs.OutOfReach(a) {
				return nil, err
			}
		}
		if _, found := trial.Read(text.Bytes()); found || time.Since(reply.Job.EndedAt) > logs.LateMax || ctx.Err() != nil {
			break
		}
		_ = api.Pause(ctx, logs.JournalPoll)
	}
	if _, found := trial.Read(text.Bytes()); !found {
		if hidden := logs.Unseen(a, reply.Job); hidden != "" {
			return text.Bytes(), errors.New(hidden)
		}
		if !whole && reply.Job.Manager == "" {
			return text.Bytes(), errors.New(logs.MaybeMore(reply.Job))
		}
	}
	return text.Bytes(), nil
}

// lastLine returns the last line of a text that is not an empty line.
func lastLine(text []byte) string {
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return lines[len(lines)-1]
}

// showTrials prints a table of the GPUs, then the problems in full.
func (c *Cmd) showTrials(a *cli.App, reply trialReply) error {
	rows := reply.GPUs
	if c.Quiet {
		rows = slices.DeleteFunc(slices.Clone(rows), func(t *gpuTrial) bool { return t.Health == job.Healthy })
	}
	bad := job.Each(slices.DeleteFunc(slices.Clone(reply.GPUs), func(t *gpuTrial) bool { return t.Health == job.Healthy }),
		func(t *gpuTrial) string { return strconv.Itoa(t.Index) })
	checks := problems(reply.GPUs)
	err := cli.Report[*gpuTrial]{Doc: reply, Rows: rows, Cols: trialColumns(), IDs: bad, Text: func(wide bool) {
		if len(rows) > 0 {
			term.WriteTable(a.Out, trialColumns(), rows, wide)
		}
		if len(checks) > 0 && len(rows) > 0 {
			a.Out.Printf("\n")
		}
		look.WriteProblems(a, look.WorstFirst(checks))
	}}.Show(a, c.OutputFlags)
	if err != nil {
		return err
	}
	return look.HealthStatus(reply.Health)
}

// problems returns the failed checks. Each is listed once, with all GPUs that failed it.
func problems(trials []*gpuTrial) (list []job.Check) {
	gpus := map[job.Check][]int{}
	for _, t := range trials {
		for _, check := range t.Checks {
			if check.Health == job.Healthy {
				continue
			}
			if gpus[check] == nil {
				list = append(list, check)
			}
			gpus[check] = append(gpus[check], t.Index)
		}
	}
	for i, check := range list {
		list[i].Name = "GPU " + job.FormatGPUList(gpus[check]) + ", " + check.Name
	}
	return list
}

func trialColumns() []term.Column[*gpuTrial] {
	cols := []term.Column[*gpuTrial]{
		{Title: "GPU", Key: "gpu", Right: true, Cell: func(t *gpuTrial) string { return strconv.Itoa(t.Index) }},
		{Title: "JOB", Key: "job", Right: true, Cell: func(t *gpuTrial) string { return jobCell(t.Job) }},
		{Title: "HEALTH", Key: "health", Cell: func(t *gpuTrial) string { return string(t.Health) }, Style: func(t *gpuTrial) term.Style { return look.HealthStyle(t.Health) }},
		{Key: "uuid", Cell: func(t *gpuTrial) string { return t.UUID }},
		{Title: "WAITED", Key: "waited_seconds", Right: true, Cell: func(t *gpuTrial) string { return fmt.Sprintf("%.1fs", t.Waited) }, Raw: func(t *gpuTrial) string { return fmt.Sprintf("%.3f", t.Waited) }},
	}
	for _, name := range trial.Names() {
		cols = append(cols, term.Column[*gpuTrial]{
			Title: strings.ToUpper(name), Key: name,
			Cell: func(t *gpuTrial) string { return checkCell(t.Checks, name) },
		})
	}
	return cols
}

func jobCell(id job.ID) string {
	if id == 0 {
		return ""
	}
	return id.String()
}

// checkCell returns a word for a check's result, or "-" if the check was not made.
func checkCell(checks []job.Check, name string) string {
	i := slices.IndexFunc(checks, func(c job.Check) bool { return c.Name == name })
	switch {
	case i < 0:
		return "-"
	case checks[i].Health == job.Healthy:
		return "ok"
	}
	return strings.ToLower(string(checks[i].Health))
}
