package client

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

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/words"
)

// lineJob is a line of a file of jobs.
type lineJob struct {
	number int
	cmd    submitCmd
	req    api.SubmitRequest
	engine api.Engine    // which has the options of its script
	away   *newElsewhere // of another machine; nil: of this one
}

// fileOfJobs is what the lines of a file have in common.
type fileOfJobs struct {
	a      *app
	parser *kong.Kong
	batch  string
	fleet  *fleet // of the machines that lines name
}

// submitFile queues a job for each line of the file. All lines are read before the
// first job is queued: where one is wrong, none is.
func (c *submitCmd) submitFile(ctx context.Context, a *app) error {
	if len(c.Command) > 0 || c.DryRun || c.Wait {
		return refuse(api.CodeUsage, "see 'gpusched submit --help'",
			"with --file the commands are the file's lines, and --dry-run and --wait are for one job")
	}
	list, err := c.readFile(ctx, a)
	if err != nil {
		return err
	}
	if c.Request.Objective == job.Makespan {
		slices.SortStableFunc(list, func(x, y lineJob) int { return cmp.Compare(y.area(), x.area()) })
	}
	a.restoreLimits()
	jobs, failed := c.submitLines(ctx, a, list)
	if c.form() != "table" { // of those before an error, too
		state := func(j api.Job) string { return string(j.State) }
		failed = cmp.Or(a.showActed(c.outputFlags, jobs, state), failed)
	}
	return failed
}

// submitLines queues one job after the other, also after one that is refused. That is
// said, and the error is the exit status of the first.
func (c *submitCmd) submitLines(ctx context.Context, a *app, list []lineJob) (jobs []api.Job, failed error) {
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
			a.complain(fmt.Sprintf("line %d: %s", l.number, refused.Text(a.err.Reader())))
			failed = cmp.Or(failed, error(exitStatus(refused.Code.ExitStatus())))
			continue
		}
		if c.form() == "table" {
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

// maxFile bounds a file of jobs, and maxWrong of how many of its lines is said what is
// wrong.
const (
	maxFile  = 64 << 20
	maxWrong = 20
)

// readFile makes a request of each line, and says what is wrong with them.
func (c *submitCmd) readFile(ctx context.Context, a *app) ([]lineJob, error) {
	text, err := fileText(ctx, c.File, func(info os.FileInfo) error {
		if who := a.strangersIn(c.File, info); who != "" {
			return refuse(api.CodeUsage, "no job is queued; 'gpusched submit --file - <"+c.File+"' reads it all the same",
				"%q %s, and its lines would run as you", c.File, who)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	parser, err := newSubmitParser()
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
	if more := len(wrong) - maxWrong; more > 0 {
		wrong = append(wrong[:maxWrong], fmt.Sprintf("%s more are wrong", count(more, "line")))
	}
	switch {
	case len(wrong) > 0:
		return nil, refuse(api.CodeUsage, "no job is queued", "%s", strings.Join(wrong, "\n"))
	case len(list) == 0:
		return nil, refuse(api.CodeUsage, "such as: -g 2 -t 4h -- python train.py", "there is no job in %q", c.File)
	}
	return list, nil
}

// fileText is all of a file, or of the input. A FIFO into which nobody writes, and an
// input that does not end, are waited for until the user interrupts. May says whether a
// file may be read; the input may.
func fileText(ctx context.Context, name string, may func(os.FileInfo) error) (string, error) {
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
			return "", usagef("%v", err)
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
	return readFileOfJobs(in, name)
}

// readFileOfJobs reads a file up to its bound, without the mark of Windows' editors.
func readFileOfJobs(in io.Reader, name string) (string, error) {
	text, err := io.ReadAll(io.LimitReader(in, maxFile+1))
	switch {
	case err != nil:
		return "", usagef("%v", err)
	case len(text) > maxFile:
		return "", refuse(api.CodeUsage, "no job is queued; submit it in several parts",
			"%q has more than %d MiB, the most that is read", name, maxFile>>20)
	}
	return strings.TrimPrefix(string(text), "\ufeff"), nil
}

// readLine reads the options and the command of a line after those of the command
// line, which are the default of every line. It returns nil for one that says nothing.
func (c *submitCmd) readLine(ctx context.Context, a *app, in *fileOfJobs, line string) (*lineJob, error) {
	switch {
	case len(line) > job.MaxPayloadBytes:
		return nil, usagef("a line has at most %d bytes, and this one %d", job.MaxPayloadBytes, len(line))
	case strings.IndexByte(line, 0) >= 0:
		return nil, usagef("there is a NUL byte in it, which is in no text")
	}
	typed, err := splitWords(line)
	if err != nil || len(typed) == 0 {
		return nil, err
	}
	this := *a
	this.words = slices.Concat(a.words, typed)
	k, err := in.parser.Parse(this.words)
	if err != nil {
		return nil, misused(err)
	}
	cmd, ok := k.Selected().Target.Addr().Interface().(*submitCmd)
	switch {
	case !ok || cmd.File != c.File:
		return nil, usagef("a line can't name a file of jobs")
	case cmd.DryRun || cmd.Wait:
		return nil, usagef("--dry-run and --wait are for one job")
	case slices.ContainsFunc(ownWords(k, this.words)[len(a.words):], saysOn):
		return nil, onIsTyped("submit --file FILE")
	case legible(k, this.words) != nil:
		return nil, legible(k, this.words)
	}
	if cmd.Request.Objective == job.Makespan && cmd.Request.Batch == "" {
		cmd.Request.Batch = in.batch
	}
	own := *cmd
	own.Host = cmp.Or(own.Host, c.Host) // that of --hosts is in no words
	whole, mine, err := own.withScript(&this)
	if err != nil {
		return nil, err
	}
	l := &lineJob{cmd: *whole, engine: mine.client}
	if l.cmd.Host != "" {
		return l, in.elsewhere(&this, l)
	}
	if l.req, err = l.cmd.request(ctx, mine); err != nil {
		return nil, err
	}
	if err := l.cmd.checkProgram(mine, &l.req); err != nil {
		return nil, err
	}
	if err := l.req.Request.Err(); err != nil {
		return nil, usagef("%s", words.Error(err))
	}
	return l, nil
}
