package submit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/gpusched/gpusched/cmd/gpusched/act"
	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/jobenv"
	"github.com/gpusched/gpusched/cmd/gpusched/parse"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/words"
)

// A lineJob is the job that one line of a file describes.
type lineJob struct {
	number int
	cmd    Cmd
	req    api.SubmitRequest
	engine api.Engine // the engine, with the options of the job's script
	remote *remoteJob // nil if the job is for this machine
}

// A fileOfJobs has the data that all lines of a file share.
type fileOfJobs struct {
	a      *cli.App
	parser *kong.Kong
	batch  string
	fleet  *fleet
	images jobenv.ImageAnswers
}

// submitFile queues a job for each line of the file. It first reads all lines. If any line is
// wrong, it queues no job.
func (c *Cmd) submitFile(ctx context.Context, a *cli.App) error {
	if len(c.Command) > 0 || c.DryRun || c.Wait {
		return cli.Refuse(api.CodeUsage, "see 'gpusched submit --help'",
			"with --file the commands are the file's lines, and --dry-run and --wait are for a single job")
	}
	list, err := c.readFile(ctx, a)
	if err != nil {
		return err
	}
	if c.Request.Objective == job.Makespan {
		slices.SortStableFunc(list, func(x, y lineJob) int { return cmp.Compare(y.area(), x.area()) })
	}
	a.RestoreLimits()
	jobs, failed := c.submitLines(ctx, a, list)
	if c.Form() != "table" { // other output formats list the queued jobs even after an error
		state := func(j api.Job) string { return string(j.State) }
		failed = cmp.Or(act.ShowActed(a, c.OutputFlags, jobs, state), failed)
	}
	return failed
}

// submitLines queues one job after another. It prints each refusal and goes on; the exit status is
// that of the first refusal. If the scheduler can't be reached, it stops.
func (c *Cmd) submitLines(ctx context.Context, a *cli.App, list []lineJob) (jobs []api.Job, failed error) {
	copies := snapshots{}
	for i := range list {
		l := &list[i]
		reply, asked, err := l.submit(ctx, a, copies)
		var refused *api.Error
		switch {
		case err == nil:
			jobs = append(jobs, reply.Job)
			HintCommand(a, l.req)
		case !errors.As(err, &refused) || refused.Code == api.CodeUnreachable:
			l.printProgress(a, len(jobs), len(list), i, asked)
			return jobs, err
		default:
			a.Complain(fmt.Sprintf("line %d: %s", l.number, refused.Text(a.Err.Reader())))
			failed = cmp.Or(failed, error(cli.ExitStatus(refused.Code.ExitStatus())))
			continue
		}
		if c.Form() == "table" {
			if err := l.cmd.report(ctx, a, reply); err != nil {
				return jobs, err
			}
		}
	}
	return jobs, failed
}

// area returns how much GPU time a line requests, in thousandths of a GPU second. A job without a
// time limit counts as one hour. The scheduler makes the same estimate for a job about which it
// knows nothing.
func (l *lineJob) area() int64 {
	run := cmp.Or(l.req.TimeLimit.Duration(), time.Hour)
	return int64(run/time.Second) * int64(l.req.GPUMilli)
}

// MaxFile is the largest size of a file of jobs, in bytes. MaxWrong is the largest number of lines
// whose errors are listed.
const (
	MaxFile  = 64 << 20
	MaxWrong = 20
)

// readFile returns the requests for all lines. If any are wrong, the error lists what is wrong.
func (c *Cmd) readFile(ctx context.Context, a *cli.App) ([]lineJob, error) {
	text, err := FileText(ctx, c.File, func(info os.FileInfo) error {
		if who := jobenv.StrangersIn(a, c.File, info); who != "" {
			return cli.Refuse(api.CodeUsage, "no job is queued; 'gpusched submit --file - <"+c.File+"' reads it anyway",
				"%q %s, and its lines would run as you", c.File, who)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	parser, err := NewSubmitParser()
	if err != nil {
		return nil, err
	}
	var list []lineJob
	var wrong []string
	in := &fileOfJobs{a: a, parser: parser, batch: "file-" + api.NewKey()[:8], fleet: newFleet(), images: jobenv.ImageAnswers{}}
	number := 0
	for line := range strings.Lines(text) {
		number++
		l, err := c.readLine(ctx, a, in, strings.TrimRight(line, "\r\n"))
		switch {
		case err != nil:
			wrong = append(wrong, fmt.Sprintf("line %d: %s", number, err))
		case l != nil:
			l.number = number
			list = append(list, *l)
		}
	}
	if len(wrong) == 0 {
		if wrong, err = in.askMachines(ctx, list); err != nil {
			return nil, err
		}
	}
	if more := len(wrong) - MaxWrong; more > 0 {
		wrong = append(wrong[:MaxWrong], fmt.Sprintf("%s more are wrong", cli.Count(more, "line")))
	}
	switch {
	case len(wrong) > 0:
		return nil, cli.Refuse(api.CodeUsage, "no job is queued", "%s", strings.Join(wrong, "\n"))
	case len(list) == 0:
		return nil, cli.Refuse(api.CodeUsage, "such as: -g 2 -t 4h -- python train.py", "there is no job in %q", c.File)
	}
	return list, nil
}

// FileText returns the content of a file, or of the standard input for "-". It first calls its last
// argument, which can refuse the file. FileText may have to wait: for a FIFO that nobody writes to,
// or for an input that never ends. The wait can be interrupted.
func FileText(ctx context.Context, name string, may func(os.FileInfo) error) (string, error) {
	type result struct {
		text string
		err  error
	}
	done := make(chan result, 1)
	go func() {
		text, err := readNamed(name, may)
		done <- result{text, err}
	}()
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case r := <-done:
		return r.text, r.err
	}
}

func readNamed(name string, may func(os.FileInfo) error) (string, error) {
	in := os.Stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return "", cli.Usagef("%v", err)
		}
		defer f.Close()
		info, err := f.Stat()
		if err == nil {
			err = may(info)
		}
		if err != nil {
			return "", err
		}
		in = f
	}
	return ReadFileOfJobs(in, name)
}

// ReadFileOfJobs reads up to MaxFile bytes, without the byte order mark of editors on Windows.
func ReadFileOfJobs(in io.Reader, name string) (string, error) {
	text, err := io.ReadAll(io.LimitReader(in, MaxFile+1))
	switch {
	case err != nil:
		return "", cli.Usagef("%v", err)
	case len(text) > MaxFile:
		return "", cli.Refuse(api.CodeUsage, "no job is queued; submit it in several parts",
			"%q has more than %d MiB, the most that is read", name, MaxFile>>20)
	}
	return strings.TrimPrefix(string(text), "\ufeff"), nil
}

// readLine parses a line of the file. The options of the command line are defaults for the line's
// own options. For an empty line or a comment, readLine returns nil.
func (c *Cmd) readLine(ctx context.Context, a *cli.App, in *fileOfJobs, line string) (*lineJob, error) {
	switch {
	case len(line) > job.MaxPayloadBytes:
		return nil, cli.Usagef("a line may have at most %d bytes, and this one has %d", job.MaxPayloadBytes, len(line))
	case strings.IndexByte(line, 0) >= 0:
		return nil, cli.Usagef("it contains a NUL byte")
	}
	typed, err := cli.SplitWords(line)
	if err != nil || len(typed) == 0 {
		return nil, err
	}
	this := *a
	this.Words = slices.Concat(a.Words, typed)
	k, err := in.parser.Parse(this.Words)
	if err != nil {
		return nil, parse.Misused(err)
	}
	cmd, ok := k.Selected().Target.Addr().Interface().(*Cmd)
	switch {
	case !ok || cmd.File != c.File:
		return nil, cli.Usagef("a line can't name a file of jobs")
	case cmd.DryRun || cmd.Wait:
		return nil, cli.Usagef("--dry-run and --wait are for a single job")
	case slices.ContainsFunc(parse.OwnWords(k, this.Words)[len(a.Words):], cli.SaysOn):
		return nil, onIsTyped("submit --file FILE")
	case parse.CheckWords(k, this.Words) != nil:
		return nil, parse.CheckWords(k, this.Words)
	}
	if cmd.Request.Objective == job.Makespan && cmd.Request.Batch == "" {
		cmd.Request.Batch = in.batch
	}
	own := *cmd
	own.Host = cmp.Or(own.Host, c.Host) // --hosts has set c.Host; that option is not among the parsed words
	whole, mine, err := own.WithScript(ctx, &this)
	if err != nil {
		return nil, err
	}
	l := &lineJob{cmd: *whole, engine: mine.Client}
	if l.cmd.Host != "" {
		return l, in.prepareRemote(&this, l)
	}
	l.cmd.Share(in.images)
	if l.req, err = l.cmd.MakeRequest(ctx, mine); err != nil {
		return nil, err
	}
	if err := l.cmd.CheckProgram(mine, &l.req); err != nil {
		return nil, err
	}
	if err := l.req.Faults(); err != nil {
		return nil, cli.Usagef("%s", words.Error(err))
	}
	return l, nil
}

// IsRegular reports whether a name belongs to a regular file.
func IsRegular(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// RefuseShared returns an error if other users may have written the file of jobs.
func RefuseShared(a *cli.App, name string, info os.FileInfo) error {
	if who := jobenv.StrangersIn(a, name, info); who != "" {
		return cli.Refuse(api.CodeUsage, "--shared reads it anyway", "%q %s, and its lines would run as you", name, who)
	}
	return nil
}
