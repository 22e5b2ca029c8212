package logs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// filePoll is the time between two looks at a followed file. lateFile is the time after the end of
// a job in which output may still arrive, since another machine wrote the file.
const (
	filePoll = 200 * time.Millisecond
	lateFile = 600 * time.Millisecond
)

// byEngine prints the output of jobs if their engine keeps output in files.
func (c *Cmd) byEngine(ctx context.Context, a *cli.App) (done bool, err error) {
	if a.Other() == nil {
		return false, nil
	}
	switch {
	case c.Times:
		return true, a.Other().Refusal("logs --timestamps")
	case c.Attempt > 0:
		return true, a.Other().Refusal("logs --attempt")
	}
	ids, err := a.Resolve(ctx, OrLast(c.IDs))
	if err != nil {
		return true, err
	}
	named, failed := a.ActOn(ids, 1, a.Show(ctx))
	p := &Printer{Cmd: c, App: a}
	list, err := p.inFiles(ctx, named)
	if err != nil {
		return true, err
	}
	p.Many = len(list) > 1 || len(named) > 0 && named[0].Array != nil
	return true, cmp.Or(p.PrintFiles(ctx, list), failed)
}

// inFiles returns the jobs whose files are printed. It replaces arrays with their started tasks.
func (p *Printer) inFiles(ctx context.Context, named []api.Job) (list []api.Job, err error) {
	for _, j := range named {
		if j.Array == nil {
			list = append(list, j)
			continue
		}
		tasks, err := api.List(ctx, p.Client, api.ListQuery{Array: j.ID, Ended: cli.MostEnded})
		if err != nil {
			return nil, err
		}
		slices.SortFunc(tasks.Jobs, func(x, y api.Job) int { return cmp.Compare(x.Task.Index, y.Task.Index) })
		for _, t := range tasks.Jobs {
			reply, err := api.Show(ctx, p.Client, cli.NameOfJob(t), api.JobQuery{})
			if err != nil {
				return nil, err
			}
			list = append(list, reply.Job)
		}
		if len(tasks.Jobs) == 0 {
			return nil, cli.Refuse(api.CodeConflict, "", "%s has no output yet: no task has started%s", nameAll([]api.Job{j}), p.Because(j))
		}
	}
	if !p.Failed {
		return list, nil
	}
	list = slices.DeleteFunc(list, func(j api.Job) bool { return !j.State.Terminal() || j.State == job.Completed })
	if len(list) == 0 {
		p.Note("nothing has failed in %s", nameAll(named))
	}
	return list, nil
}

// PrintFiles prints the jobs' files one after another. With --follow it prints all at once.
func (p *Printer) PrintFiles(ctx context.Context, list []api.Job) (first error) {
	if !p.Follow {
		for _, j := range list {
			err := p.copyFile(j)
			if err != nil && p.Many {
				err = cli.ExitStatus(p.Finish(err))
			}
			first = cmp.Or(first, err)
		}
		return first
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	for some := range slices.Chunk(list, followedAtOnce) {
		for _, j := range some {
			all.Go(func() {
				err := p.followFile(ctx, j)
				mu.Lock()
				defer mu.Unlock()
				first = cmp.Or(first, err)
			})
		}
		all.Wait()
	}
	return cmp.Or(first, ctx.Err())
}

// mayRead refuses to read the output of another user's job, even for root. The job's owner chose
// the file, so only the owner's rights may be used to open it.
func mayRead(a *cli.App, j api.Job) error {
	if j.UID == a.UID {
		return nil
	}
	who, hint := cmp.Or(j.User, strconv.Itoa(j.UID)), ""
	if a.UID == 0 {
		hint = fmt.Sprintf("sudo -u %s gpusched logs %s", cmp.Or(j.User, "'#"+strconv.Itoa(j.UID)+"'"), cli.SlurmPrefix+plainName(j))
	}
	return cli.Refuse(api.CodeForbidden, hint, "the output of job %s belongs to %s", cli.NameOfJob(j), who)
}

// plainName returns the name that Slurm itself gives to a job.
func plainName(j api.Job) string {
	j.Engine = ""
	return cli.NameOfJob(j)
}

// outputFile opens the file with a job's output.
func outputFile(a *cli.App, j api.Job) (*os.File, error) {
	if err := mayRead(a, j); err != nil {
		return nil, err
	}
	name, path := cli.NameOfJob(j), a.Other().OutputFile(j)
	switch {
	case path == "" && j.State.Terminal():
		return nil, cli.Refuse(api.CodeNotFound, "unless --log was given it is slurm-"+plainName(j)+".out in the job's directory",
			"Slurm no longer knows where the output of job %s is", name)
	case path == "":
		return nil, cli.Refuse(api.CodeConflict, "see 'gpusched why "+name+"'", "job %s has no output yet: it is %s%s", name, j.State, a.Because(j))
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) && j.StartedAt.IsZero() {
		return nil, cli.Refuse(api.CodeConflict, "wait for it with 'gpusched logs -f "+name+"'",
			"job %s has no output yet: it is %s%s", name, j.State, a.Because(j))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, cli.Refuse(api.CodeNotFound, "it may exist on the job's machine only: submit with --log in a directory that all machines share",
			"the output of job %[2]s should be in %[1]s, which does not exist here", path, name)
	}
	if err != nil {
		return nil, cli.Refuse(api.CodeForbidden, "", "%v", err)
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil, cli.Refuse(api.CodeConflict, "", "the output of job %s goes to %s, which is not a file", name, path)
	}
	return f, nil
}

// copyFile prints what a job has printed so far.
func (p *Printer) copyFile(j api.Job) error {
	f, err := outputFile(p.App, j)
	if err != nil {
		return err
	}
	defer f.Close()
	out := p.stream(j)
	if err := p.toLastLines(f); err != nil {
		return err
	}
	if _, err = io.Copy(out, f); err == nil && !out.Wrote {
		p.Say("job %s %s", cli.NameOfJob(j), nothingInFile(j.EndedAt))
	}
	return err
}

// toLastLines moves the file's position to the beginning of the last lines. -n says how many lines.
func (p *Printer) toLastLines(f *os.File) error {
	info, err := f.Stat()
	if p.Lines <= 0 || err != nil {
		return err
	}
	from := max(0, info.Size()-maxTail)
	text := make([]byte, min(info.Size(), maxTail))
	n, err := f.ReadAt(text, from)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	_, err = f.Seek(from+int64(lastLines(text[:n], 0, p.Lines)), io.SeekStart)
	return err
}

// followFile prints the output of a job until the job ends. Then it prints how the job ended.
func (p *Printer) followFile(ctx context.Context, j api.Job) error {
	name := cli.NameOfJob(j)
	if err := mayRead(p.App, j); err != nil {
		return err
	}
	if j.State == job.Queued && !p.Many {
		p.Say("job %s is %s%s", name, j.State, p.Because(j))
	}
	if j.State.Terminal() {
		return p.copyFile(j)
	}
	ended, over := api.Job{}, make(chan error, 1)
	go func() {
		reply, err := api.Wait(ctx, p.Client, name, 0)
		ended = reply.Job
		over <- err
	}()
	out := p.stream(j)
	if err := p.copyUntil(ctx, j, out, over); err != nil {
		return err
	}
	some := ""
	if !out.Wrote {
		some = ", and printed nothing"
	}
	p.Say("job %s %s%s", name, p.ResultOf(ended), some)
	return nil
}

// copyUntil prints a job's file while the file grows. The last argument is a channel that is closed
// when the job has ended.
func (p *Printer) copyUntil(ctx context.Context, j api.Job, out io.Writer, ended <-chan error) error {
	var f *os.File
	var last time.Time
	for {
		if f == nil {
			if f, _ = outputFile(p.App, j); f != nil {
				defer f.Close()
				if err := p.toLastLines(f); err != nil {
					return err
				}
			}
		}
		if f != nil {
			if _, err := io.Copy(out, f); err != nil {
				return err
			}
		}
		if !last.IsZero() && time.Since(last) > lateFile {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-ended:
			if ended, last = nil, time.Now(); err != nil {
				return err
			}
		case <-time.After(filePoll):
		}
	}
}

// OutputByEngine prints the output of another engine's job until ctx is done. For a job of gpusched
// itself it does nothing, and the result handled is false.
func OutputByEngine(ctx context.Context, a *cli.App, j api.Job, out io.Writer) (handled bool, err error) {
	if a.Other() == nil {
		return false, nil
	}
	reply, err := api.Show(ctx, a.Client, cli.NameOfJob(j), api.JobQuery{})
	if err != nil {
		return true, err
	}
	p := &Printer{Cmd: &Cmd{}, App: a}
	return true, p.copyUntil(ctx, reply.Job, out, nil)
}
