package client

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

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// filePoll is how often a file is looked at that is followed, and lateFile for how long after the job's end
// more may come: another machine wrote it.
const (
	filePoll = 200 * time.Millisecond
	lateFile = 600 * time.Millisecond
)

// byEngine prints the output of jobs of an engine that has it in files.
func (c *logsCmd) byEngine(ctx context.Context, a *app) (done bool, err error) {
	if a.other() == nil {
		return false, nil
	}
	switch {
	case c.Times:
		return true, a.other().Refusal("logs --timestamps")
	case c.Attempt > 0:
		return true, a.other().Refusal("logs --attempt")
	}
	ids, err := a.resolve(ctx, orLast(c.IDs))
	if err != nil {
		return true, err
	}
	named, failed := a.actOn(ids, 1, a.show(ctx))
	p := &logPrinter{logsCmd: c, app: a}
	list, err := p.inFiles(ctx, named)
	if err != nil {
		return true, err
	}
	p.many = len(list) > 1 || len(named) > 0 && named[0].Array != nil
	return true, cmp.Or(p.printFiles(ctx, list), failed)
}

// inFiles are the jobs whose files are printed: of an array its tasks that have started.
func (p *logPrinter) inFiles(ctx context.Context, named []api.Job) (list []api.Job, err error) {
	for _, j := range named {
		if j.Array == nil {
			list = append(list, j)
			continue
		}
		tasks, err := api.List(ctx, p.client, api.ListQuery{Array: j.ID, Ended: mostEnded})
		if err != nil {
			return nil, err
		}
		slices.SortFunc(tasks.Jobs, func(x, y api.Job) int { return cmp.Compare(x.Task.Index, y.Task.Index) })
		for _, t := range tasks.Jobs {
			reply, err := api.Show(ctx, p.client, nameOfJob(t), api.JobQuery{})
			if err != nil {
				return nil, err
			}
			list = append(list, reply.Job)
		}
		if len(tasks.Jobs) == 0 {
			return nil, refuse(api.CodeConflict, "", "%s has no output yet: no task has started%s", nameAll([]api.Job{j}), p.because(j))
		}
	}
	if !p.Failed {
		return list, nil
	}
	list = slices.DeleteFunc(list, func(j api.Job) bool { return !j.State.Terminal() || j.State == job.Completed })
	if len(list) == 0 {
		p.note("nothing has failed in %s", nameAll(named))
	}
	return list, nil
}

// printFiles prints them one after the other, or as they come where they are followed.
func (p *logPrinter) printFiles(ctx context.Context, list []api.Job) (first error) {
	if !p.Follow {
		for _, j := range list {
			err := p.copyFile(j)
			if err != nil && p.many {
				err = exitStatus(p.finish(err))
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

// mayRead refuses the output of another user's job, also to root: Slurm's job says which file that is, and to
// open what somebody else has named is theirs to do, with their own rights.
func (a *app) mayRead(j api.Job) error {
	if j.UID == a.uid {
		return nil
	}
	who, hint := cmp.Or(j.User, strconv.Itoa(j.UID)), ""
	if a.uid == 0 {
		hint = fmt.Sprintf("sudo -u %s gpusched logs %s", cmp.Or(j.User, "'#"+strconv.Itoa(j.UID)+"'"), slurmPrefix+plainName(j))
	}
	return refuse(api.CodeForbidden, hint, "the output of job %s is for %s to read", nameOfJob(j), who)
}

// plainName is what Slurm itself calls a job.
func plainName(j api.Job) string {
	j.Engine = ""
	return nameOfJob(j)
}

// outputFile opens the file of a job's output.
func (a *app) outputFile(j api.Job) (*os.File, error) {
	if err := a.mayRead(j); err != nil {
		return nil, err
	}
	name, path := nameOfJob(j), a.other().OutputFile(j)
	switch {
	case path == "" && j.State.Terminal():
		return nil, refuse(api.CodeNotFound, "unless --log was given it is slurm-"+plainName(j)+".out in the job's directory",
			"Slurm does not know any more where the output of job %s is", name)
	case path == "":
		return nil, refuse(api.CodeConflict, "see 'gpusched why "+name+"'", "job %s has no output yet: it is %s%s", name, j.State, a.because(j))
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) && j.StartedAt.IsZero() {
		return nil, refuse(api.CodeConflict, "wait for it with 'gpusched logs -f "+name+"'", "job %s has no output yet: it is %s%s", name, j.State, a.because(j))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, refuse(api.CodeNotFound, "it may be on the job's machine alone: submit with --log in a directory that all machines share",
			"there is no file %s here, in which the output of job %s should be", path, name)
	}
	if err != nil {
		return nil, refuse(api.CodeForbidden, "", "%v", err)
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil, refuse(api.CodeConflict, "", "the output of job %s goes to %s, which is not a file", name, path)
	}
	return f, nil
}

// copyFile prints what there is of a job's output.
func (p *logPrinter) copyFile(j api.Job) error {
	f, err := p.outputFile(j)
	if err != nil {
		return err
	}
	defer f.Close()
	out := p.stream(j)
	if err := p.toLastLines(f); err != nil {
		return err
	}
	if _, err = io.Copy(out, f); err == nil && !out.some {
		p.say("job %s %s", nameOfJob(j), nothingInFile(j.EndedAt))
	}
	return err
}

// toLastLines goes to where the lines begin that -n asks for.
func (p *logPrinter) toLastLines(f *os.File) error {
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

// followFile prints the output of a job to its end, which it says.
func (p *logPrinter) followFile(ctx context.Context, j api.Job) error {
	name := nameOfJob(j)
	if err := p.mayRead(j); err != nil {
		return err
	}
	if j.State == job.Queued && !p.many {
		p.say("job %s is %s%s", name, j.State, p.because(j))
	}
	if j.State.Terminal() {
		return p.copyFile(j)
	}
	ended, over := api.Job{}, make(chan error, 1)
	go func() {
		reply, err := api.Wait(ctx, p.client, name, 0)
		ended = reply.Job
		over <- err
	}()
	out := p.stream(j)
	if err := p.copyUntil(ctx, j, out, over); err != nil {
		return err
	}
	some := ""
	if !out.some {
		some = ", and printed nothing"
	}
	p.say("job %s %s%s", name, p.resultOf(ended), some)
	return nil
}

// copyUntil prints a job's output from its file on, as it comes, until over says that the job has ended.
func (p *logPrinter) copyUntil(ctx context.Context, j api.Job, out io.Writer, over <-chan error) error {
	var f *os.File
	var last time.Time
	for {
		if f == nil {
			if f, _ = p.outputFile(j); f != nil {
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
		case err := <-over:
			if over, last = nil, time.Now(); err != nil {
				return err
			}
		case <-time.After(filePoll):
		}
	}
}

// outputElsewhere prints the output of a job that somebody stays with, until the context ends.
func (a *app) outputElsewhere(ctx context.Context, j api.Job, out io.Writer) (done bool, err error) {
	if a.other() == nil {
		return false, nil
	}
	reply, err := api.Show(ctx, a.client, nameOfJob(j), api.JobQuery{})
	if err != nil {
		return true, err
	}
	p := &logPrinter{logsCmd: &logsCmd{}, app: a}
	return true, p.copyUntil(ctx, reply.Job, out, nil)
}
