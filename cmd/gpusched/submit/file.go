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

// lineJob is a line of a file of jobs.
type lineJob struct {
	number int
	cmd    Cmd
	req    api.SubmitRequest
	engine api.Engine    // which has the options of its script
	away   *newElsewhere // of another machine; nil: of this one
}

// fileOfJobs is what the lines of a file have in common.
type fileOfJobs struct {
	a      *cli.App
	parser *kong.Kong
	batch  string
	fleet  *fleet // of the machines that lines name
}

// submitFile queues a job for each line of the file. All lines are read before the
// first job is queued: where one is wrong, none is.
func (c *Cmd) submitFile(ctx context.Context, a *cli.App) error {
	if len(c.Command) > 0 || c.DryRun || c.Wait {
		return cli.Refuse(api.CodeUsage, "see 'gpusched submit --help'",
			"with --file the commands are the file's lines, and --dry-run and --wait are for one job")
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
	if c.Form() != "table" { // of those before an error, too
		state := func(j api.Job) string { return string(j.State) }
		failed = cmp.Or(act.ShowActed(a, c.OutputFlags, jobs, state), failed)
	}
	return failed
}

// submitLines queues one job after the other, also after one that is refused. That is
// said, and the error is the exit status of the first.
func (c *Cmd) submitLines(ctx context.Context, a *cli.App, list []lineJob) (jobs []api.Job, failed error) {
	for i := range list {
		l := &list[i]
		reply, asked, err := l.submit(ctx, a)
		var refused *api.Error
		switch {
		case err == nil:
			jobs = append(jobs, reply.Job)
		case !errors.As(err, &refused) || refused.Code == api.CodeUnreachable:
			l.stopped(a, len(jobs), len(list), i, asked)
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

// area is how much GPU time is asked. A job without a limit counts for what the
// scheduler expects of one of which nothing is known.
func (l *lineJob) area() int64 {
	run := cmp.Or(l.req.TimeLimit.Duration(), time.Hour)
	return int64(run/time.Second) * int64(l.req.GPUMilli)
}

// MaxFile bounds a file of jobs, and MaxWrong of how many of its lines is said what is
// wrong.
const (
	MaxFile  = 64 << 20
	MaxWrong = 20
)

// readFile makes a request of each line, and says what is wrong with them.
func (c *Cmd) readFile(ctx context.Context, a *cli.App) ([]lineJob, error) {
	text, err := FileText(ctx, c.File, func(info os.FileInfo) error {
		if who := jobenv.StrangersIn(a, c.File, info); who != "" {
			return cli.Refuse(api.CodeUsage, "no job is queued; 'gpusched submit --file - <"+c.File+"' reads it all the same",
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
	in, number := &fileOfJobs{a: a, parser: parser, batch: "file-" + api.NewKey()[:8], fleet: newFleet()}, 0
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
		if wrong, err = in.reach(ctx, list); err != nil {
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

// FileText is all of a file, or of the input. A FIFO into which nobody writes, and an
// input that does not end, are waited for until the user interrupts. May says whether a
// file may be read; the input may.
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

// ReadFileOfJobs reads a file up to its bound, without the mark of Windows' editors.
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

// readLine reads the options and the command of a line after those of the command
// line, which are the default of every line. It returns nil for one that says nothing.
func (c *Cmd) readLine(ctx context.Context, a *cli.App, in *fileOfJobs, line string) (*lineJob, error) {
	switch {
	case len(line) > job.MaxPayloadBytes:
		return nil, cli.Usagef("a line has at most %d bytes, and this one %d", job.MaxPayloadBytes, len(line))
	case strings.IndexByte(line, 0) >= 0:
		return nil, cli.Usagef("there is a NUL byte in it, which is in no text")
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
		return nil, cli.Usagef("--dry-run and --wait are for one job")
	case slices.ContainsFunc(parse.OwnWords(k, this.Words)[len(a.Words):], cli.SaysOn):
		return nil, onIsTyped("submit --file FILE")
	case parse.Legible(k, this.Words) != nil:
		return nil, parse.Legible(k, this.Words)
	}
	if cmd.Request.Objective == job.Makespan && cmd.Request.Batch == "" {
		cmd.Request.Batch = in.batch
	}
	own := *cmd
	own.Host = cmp.Or(own.Host, c.Host) // that of --hosts is in no words
	whole, mine, err := own.WithScript(&this)
	if err != nil {
		return nil, err
	}
	l := &lineJob{cmd: *whole, engine: mine.Client}
	if l.cmd.Host != "" {
		return l, in.elsewhere(&this, l)
	}
	if l.req, err = l.cmd.MakeRequest(ctx, mine); err != nil {
		return nil, err
	}
	if err := l.cmd.CheckProgram(mine, &l.req); err != nil {
		return nil, err
	}
	if err := l.req.Request.Err(); err != nil {
		return nil, cli.Usagef("%s", words.Error(err))
	}
	return l, nil
}

// IsRegular reports whether there is a file of lines under a name, neither a pipe nor
// a directory.
func IsRegular(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// RefuseShared refuses a file of jobs that is not the caller's alone.
func RefuseShared(a *cli.App, name string, info os.FileInfo) error {
	if who := jobenv.StrangersIn(a, name, info); who != "" {
		return cli.Refuse(api.CodeUsage, "--shared reads it all the same", "%q %s, and its lines would run as you", name, who)
	}
	return nil
}
