package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/remote"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// askHost has the gpusched of a machine answer a command line, one of so many machines that are asked at once.
func (a *app) askHost(ctx context.Context, host string, t remote.Typed, among int) (remote.Answer, error) {
	t.Called, t.Plain = host, t.Plain || host == a.plainHost()
	if host != remote.Here {
		return remote.Ask(ctx, host, t, among)
	}
	cmd := &exec.Cmd{Path: "/proc/self/exe", Args: append(append([]string{"gpusched"}, a.asking()...), remote.DocCommand)}
	return remote.AskBy(ctx, cmd, host, t, among)
}

// plainHost is the machine that has the jobs whose ids name none.
func (a *app) plainHost() string {
	if len(a.hosts) == 1 {
		return a.hosts[0]
	}
	return remote.Here
}

// typed is the command line as another machine is to answer it.
func (a *app) typed() remote.Typed { return remote.Typed{Words: a.words} }

// asking are the words before a command that say which scheduler of this machine it asks.
func (a *app) asking() []string {
	switch {
	case a.own:
		return []string{ownFlag}
	case a.other() != nil:
		return []string{onFlag, engineSlurm}
	case a.on != "":
		return []string{onFlag, a.on}
	}
	return nil
}

// fetch asks the scheduler here, unless it is another machine that answers: then that has its gpusched answer the same
// command line.
func fetch[T any](ctx context.Context, a *app, ask func() (T, error)) (T, error) {
	if a.host == "" {
		return ask()
	}
	one := fetchAll[T](ctx, a, []string{a.host}, a.typed())[0]
	return one.doc, one.err
}

// fetched is the document of a machine, or why there is none.
type fetched[T any] struct {
	doc T
	err error
}

// fetchAll has several machines answer a command line at once, each within its time.
func fetchAll[T any](ctx context.Context, a *app, hosts []string, t remote.Typed) []fetched[T] {
	limited, cancel := context.WithTimeout(ctx, remote.Patience)
	defer cancel()
	list, notes := make([]fetched[T], len(hosts)), make([]string, len(hosts))
	var all sync.WaitGroup
	for i, host := range hosts {
		all.Go(func() {
			var ans remote.Answer
			if ans, list[i].err = a.askHost(limited, host, t, len(hosts)); list[i].err == nil {
				list[i].err = readDocument(host, ans, &list[i].doc)
			}
			if list[i].err == nil {
				notes[i] = ans.Said
			}
		})
	}
	all.Wait()
	for i, host := range hosts {
		a.passOn(host, notes[i])
		if ctx.Err() != nil {
			list[i].err = ctx.Err()
		}
	}
	return list
}

// passOn prints what the gpusched of a machine said, each line under its name: no machine can speak for another.
func (a *app) passOn(host, said string) {
	for line := range strings.Lines(said) {
		a.say("gpusched: %s: %s\n", host, strings.TrimSuffix(line, "\n"))
	}
}

// readDocument reads the document of an answer, whose jobs and GPUs get the name of the machine. What is no document
// is the machine's refusal.
func readDocument(host string, ans remote.Answer, doc any) error {
	if ans.Status != 0 {
		return &api.Error{Code: api.CodeOf(ans.Status), Message: cmp.Or(ans.Said, fmt.Sprintf("gpusched there has ended with status %d", ans.Status))}
	}
	if err := json.Unmarshal(ans.Doc, doc); err != nil {
		return refuse(api.CodeUnreachable, "see 'ssh "+host+" gpusched version'", "what it answers is not the document that is expected: %v", err)
	}
	nameDocument(host, doc)
	return nil
}

// named is a document of a command whose jobs and GPUs get the name of the machine that they are of.
type named interface{ nameAll(host string) }

// nameDocument writes the name of a machine on the jobs and GPUs of its document.
func nameDocument(host string, doc any) {
	switch d := doc.(type) {
	case named:
		d.nameAll(host)
	case *api.StatusReply:
		nameJobs(host, d.Running)
		nameJobs(host, d.Waiting)
		nameGPUs(host, d.GPUs)
	case *api.GPUsReply:
		nameGPUs(host, d.GPUs)
	case *api.JobReply:
		nameReply(host, d)
	case *api.SubmitReply:
		nameJob(host, &d.Job)
	}
}

func nameReply(host string, d *api.JobReply) {
	nameJob(host, &d.Job)
	if d.Queue == nil {
		return
	}
	for i := range d.Queue.Ahead {
		d.Queue.Ahead[i].Called = nameAt(host, nameOnly(d.Queue.Ahead[i].Called, 0))
	}
}

func nameJobs(host string, jobs []api.Job) {
	for i := range jobs {
		nameJob(host, &jobs[i])
	}
}

func nameGPUs(host string, gpus []api.GPU) {
	for i := range gpus {
		gpus[i].Host = host
		for s := range gpus[i].Shares {
			gpus[i].Shares[s].Called = nameAt(host, nameOnly(gpus[i].Shares[s].Called, gpus[i].Shares[s].Job))
		}
	}
}

// nameJob makes the name of a job: whoever cancels what a list of several machines prints must not be given a job of
// one by another.
func nameJob(host string, j *api.Job) {
	j.Host, j.Engine = host, ""
	if j.Task != nil {
		j.Task.Name = j.Task.Task.String()
	}
}

// nameOnly is the name of a job, "12" or "7_3", as a machine says it, and of what is none its number.
func nameOnly(called string, id job.ID) string {
	if called == "" || strings.Trim(called, "0123456789_") != "" {
		return id.String()
	}
	return called
}

// actFar has each machine do what was typed to those of the jobs that are its own, one after the other. One that can't
// costs its own jobs.
func (a *app) actFar(ctx context.Context) (jobs []api.Job, first error) {
	for _, host := range a.far {
		limited, cancel := context.WithTimeout(ctx, actTime)
		ans, err := a.askHost(limited, host, a.typed(), 1)
		cancel()
		if ctx.Err() != nil {
			return jobs, ctx.Err()
		}
		some, err := a.jobsOf(host, ans, err)
		jobs = append(jobs, some...)
		if first == nil {
			first = err
		}
	}
	return jobs, first
}

// jobsOf are the jobs to which a machine did something. What it said is passed on, and the error is its exit status.
func (a *app) jobsOf(host string, ans remote.Answer, err error) ([]api.Job, error) {
	var doc actedReply
	if err == nil && ans.Doc != nil {
		err = readDocument(host, remote.Answer{Doc: ans.Doc}, &doc)
	}
	if err == nil {
		a.passOn(host, ans.Said)
		if ans.Status != 0 {
			err = exitStatus(ans.Status)
		}
		return doc.Jobs, err
	}
	var e *api.Error
	if cut := new(remote.CutError); errors.As(err, &cut) && errors.As(err, &e) {
		err = refuse(e.Code, "what it was to do it may have done: see 'gpusched "+hostsFlag+" "+host+" list'", "%s", e.Message)
	}
	return nil, a.complainOf(host, err)
}

// complainOf says what is wrong with a machine, and returns the exit status for that.
func (a *app) complainOf(host string, err error) error {
	there := *a
	there.host = host
	if code := there.finish(err); code != 0 {
		return exitStatus(code)
	}
	return nil
}

var (
	// actTime is how long a machine that has begun may take to do what it is asked, such as to queue a job.
	actTime = time.Minute
	// lostTime is how long a machine that was lost over a wait or a submission is asked again.
	lostTime = 20 * time.Second
)

// untilAnswered asks a machine again while its answers are cut off: what is asked twice is done once. Once one was,
// that its scheduler does not answer is no answer either. cut: nobody knows what became of it.
func untilAnswered(ctx context.Context, ask func() (remote.Answer, error)) (ans remote.Answer, cut bool, err error) {
	var lost time.Time // since when
	for {
		began := time.Now()
		ans, err = ask()
		if errors.As(err, new(*remote.CutError)) && (!cut || time.Since(began) > lostTime) {
			cut, lost = true, time.Now()
		}
		var e *api.Error
		gone := errors.As(err, &e) && e.Code == api.CodeUnreachable ||
			err == nil && ans.Doc == nil && ans.Status == api.CodeUnreachable.ExitStatus()
		if !cut || !gone || time.Since(lost) > lostTime || api.Pause(ctx, time.Second) != nil {
			return ans, cut && (err != nil || ans.Status != 0), err
		}
	}
}

// waitFar has each machine wait for its own jobs, all at once.
func (c *waitCmd) waitFar(ctx context.Context, a *app) error {
	type ended struct {
		at  int
		ans remote.Answer
		err error
	}
	waiting, enough := context.WithCancel(ctx)
	defer enough()
	came := make(chan ended, len(a.far))
	for i, host := range a.far {
		go func() {
			ans, _, err := untilAnswered(waiting, func() (remote.Answer, error) {
				return a.askHost(waiting, host, a.typed(), len(a.far))
			})
			came <- ended{i, ans, err}
		}()
	}
	list := make([][]api.Job, len(a.far))
	var first error
	for range a.far {
		e := <-came
		if ctx.Err() != nil {
			return ctx.Err()
		}
		jobs, err := a.jobsOf(a.far[e.at], e.ans, e.err)
		if list[e.at] = jobs; err != nil && len(jobs) == 0 && first == nil {
			first = err
		}
		if c.Any && len(jobs) > 0 {
			break
		}
	}
	enough()
	var jobs []api.Job
	for _, some := range list {
		jobs = append(jobs, some...)
	}
	if !c.Quiet {
		if err := a.showActed(c.outputFlags, jobs, a.resultOf); err != nil {
			return err
		}
	}
	return cmp.Or(first, statusOf(jobs))
}
