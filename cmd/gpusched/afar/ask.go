package afar

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

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/remote"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// AskHost sends a command line to the gpusched of another machine and returns the answer. The
// argument among is the number of machines that are asked at once.
func AskHost(ctx context.Context, a *cli.App, host string, t remote.Typed, among int) (remote.Answer, error) {
	t.Called, t.Plain = host, t.Plain || host == PlainHost(a)
	if host != remote.Here {
		return remote.Ask(ctx, host, t, among)
	}
	cmd := &exec.Cmd{Path: "/proc/self/exe", Args: append(append([]string{"gpusched"}, Asking(a)...), remote.DocCommand)}
	return remote.AskBy(ctx, cmd, host, t, among)
}

// PlainHost returns the machine of the jobs whose ids name no machine.
func PlainHost(a *cli.App) string {
	if len(a.Hosts) == 1 {
		return a.Hosts[0]
	}
	return remote.Here
}

// Typed returns the command line in the form that is sent to another machine.
func Typed(a *cli.App) remote.Typed { return remote.Typed{Words: a.Words} }

// Asking returns the words that select this run's scheduler. They are typed in front of a command.
func Asking(a *cli.App) []string {
	switch {
	case a.Own:
		return []string{cli.OwnFlag}
	case a.Other() != nil:
		return []string{cli.OnFlag, cli.EngineSlurm}
	case a.On != "":
		return []string{cli.OnFlag, a.On}
	}
	return nil
}

// Fetch asks this machine's scheduler. If a.Host is set, Fetch instead sends the command line to
// the gpusched of that machine.
func Fetch[T any](ctx context.Context, a *cli.App, ask func() (T, error)) (T, error) {
	if a.Host == "" {
		return ask()
	}
	one := FetchAll[T](ctx, a, []string{a.Host}, Typed(a))[0]
	return one.Doc, one.Err
}

// Fetched is the document that a machine sent, or the error if the machine sent none.
type Fetched[T any] struct {
	Doc T
	Err error
}

// FetchAll sends a command line to several machines at once. Each machine must answer within
// remote.Patience.
func FetchAll[T any](ctx context.Context, a *cli.App, hosts []string, t remote.Typed) []Fetched[T] {
	limited, cancel := context.WithTimeout(ctx, remote.Patience)
	defer cancel()
	list, notes := make([]Fetched[T], len(hosts)), make([]string, len(hosts))
	var all sync.WaitGroup
	for i, host := range hosts {
		all.Go(func() {
			var ans remote.Answer
			if ans, list[i].Err = AskHost(limited, a, host, t, len(hosts)); list[i].Err == nil {
				list[i].Err = ReadDocument(host, ans, &list[i].Doc)
			}
			if list[i].Err == nil {
				notes[i] = ans.Said
			}
		})
	}
	all.Wait()
	for i, host := range hosts {
		PassOn(a, host, notes[i])
		if ctx.Err() != nil {
			list[i].Err = ctx.Err()
		}
	}
	return list
}

// PassOn prints the messages of a machine's gpusched. Each line begins with the machine's name, so
// that no machine can print lines that seem to come from another machine.
func PassOn(a *cli.App, host, said string) {
	for line := range strings.Lines(said) {
		a.Say("gpusched: %s: %s\n", host, strings.TrimSuffix(line, "\n"))
	}
}

// ReadDocument parses the document of an answer and adds the machine's name to its jobs and GPUs.
// If an answer has no document, the machine has refused the command.
func ReadDocument(host string, ans remote.Answer, doc any) error {
	if ans.Status != 0 {
		return &api.Error{Code: api.CodeOf(ans.Status), Message: cmp.Or(ans.Said, fmt.Sprintf("gpusched there has ended with status %d", ans.Status))}
	}
	if err := json.Unmarshal(ans.Doc, doc); err != nil {
		return cli.Refuse(api.CodeUnreachable, "see 'ssh "+host+" gpusched version'", "its answer is not the expected document: %v", err)
	}
	NameDocument(host, doc)
	return nil
}

// A hostNamer is a document that can add a machine's name to its jobs and GPUs.
type hostNamer interface{ NameAll(host string) }

// NameDocument adds a machine's name to the jobs and GPUs of a document.
func NameDocument(host string, doc any) {
	switch d := doc.(type) {
	case hostNamer:
		d.NameAll(host)
	case *api.StatusReply:
		NameJobs(host, d.Running)
		NameJobs(host, d.Waiting)
		NameGPUs(host, d.GPUs)
	case *api.GPUsReply:
		NameGPUs(host, d.GPUs)
	case *api.JobReply:
		NameReply(host, d)
	case *api.SubmitReply:
		NameJob(host, &d.Job)
	}
}

func NameReply(host string, d *api.JobReply) {
	NameJob(host, &d.Job)
	if d.Queue == nil {
		return
	}
	for i := range d.Queue.Ahead {
		d.Queue.Ahead[i].Called = cli.NameAt(host, nameOnly(d.Queue.Ahead[i].Called, 0))
	}
}

func NameJobs(host string, jobs []api.Job) {
	for i := range jobs {
		NameJob(host, &jobs[i])
	}
}

func NameGPUs(host string, gpus []api.GPU) {
	for i := range gpus {
		gpus[i].Host = host
		for s := range gpus[i].Shares {
			gpus[i].Shares[s].Called = cli.NameAt(host, nameOnly(gpus[i].Shares[s].Called, gpus[i].Shares[s].Job))
		}
	}
}

// NameJob sets the name by which a job of another machine is called here. It does not trust names
// that the machine sends. If a machine sent the name of another machine's job, a user who wants to
// cancel a job in the list would cancel that other job.
func NameJob(host string, j *api.Job) {
	j.Host, j.Engine = host, ""
	if j.Task != nil {
		j.Task.Name = j.Task.Task.String()
	}
}

// nameOnly returns the job name that a machine sent if the name has the form "12" or "7_3".
// Otherwise it returns the job's number.
func nameOnly(called string, id job.ID) string {
	if called == "" || strings.Trim(called, "0123456789_") != "" {
		return id.String()
	}
	return called
}

// ActFar sends the command to each machine that has some of the jobs, one machine after the other.
// If a machine fails, ActFar goes on with the next.
func ActFar(ctx context.Context, a *cli.App) (jobs []api.Job, first error) {
	for _, host := range a.Far {
		limited, cancel := context.WithTimeout(ctx, ActTime)
		ans, err := AskHost(limited, a, host, Typed(a), 1)
		cancel()
		if ctx.Err() != nil {
			return jobs, ctx.Err()
		}
		some, err := ActedOn(a, host, ans, err)
		jobs = append(jobs, some...)
		if first == nil {
			first = err
		}
	}
	return jobs, first
}

// ActedOn returns the jobs that a machine acted on and prints the machine's messages. The error is
// the machine's exit status.
func ActedOn(a *cli.App, host string, ans remote.Answer, err error) ([]api.Job, error) {
	var doc ActedReply
	if err == nil && ans.Doc != nil {
		err = ReadDocument(host, remote.Answer{Doc: ans.Doc}, &doc)
	}
	if err == nil {
		PassOn(a, host, ans.Said)
		if ans.Status != 0 {
			err = cli.ExitStatus(ans.Status)
		}
		return doc.Jobs, err
	}
	var e *api.Error
	if cut := new(remote.CutError); errors.As(err, &cut) && errors.As(err, &e) {
		err = cli.Refuse(e.Code, "the request may have been carried out: see 'gpusched "+cli.HostsFlag+" "+host+" list'", "%s", e.Message)
	}
	return nil, ComplainOf(a, host, err)
}

// ComplainOf prints a machine's error and returns its exit status.
func ComplainOf(a *cli.App, host string, err error) error {
	there := *a
	there.Host = host
	if code := there.Finish(err); code != 0 {
		return cli.ExitStatus(code)
	}
	return nil
}

var (
	// ActTime is the time limit for a request such as a submission, once the answer has begun.
	ActTime = time.Minute
	// LostTime is how long a request is repeated after the connection was lost.
	LostTime = 20 * time.Second
)

// UntilAnswered repeats a request while its answers are cut off. That is safe, since the machine
// carries out a repeated request only once. Once an answer was cut off, UntilAnswered also repeats
// the request while the scheduler does not answer. The second result is true if nobody knows
// whether the request was carried out.
func UntilAnswered(ctx context.Context, ask func() (remote.Answer, error)) (ans remote.Answer, cut bool, err error) {
	var lost time.Time // when the connection was lost
	for {
		began := time.Now()
		ans, err = ask()
		if errors.As(err, new(*remote.CutError)) && (!cut || time.Since(began) > LostTime) {
			cut, lost = true, time.Now()
		}
		var e *api.Error
		gone := errors.As(err, &e) && e.Code == api.CodeUnreachable ||
			err == nil && ans.Doc == nil && ans.Status == api.CodeUnreachable.ExitStatus()
		if !cut || !gone || time.Since(lost) > LostTime || api.Pause(ctx, time.Second) != nil {
			return ans, cut && (err != nil || ans.Status != 0), err
		}
	}
}

// ActedReply is the document of a command that acted on jobs.
type ActedReply struct {
	Schema string    `json:"schema"`
	Jobs   []api.Job `json:"jobs"`
}

func (all *ActedReply) NameAll(host string) { NameJobs(host, all.Jobs) }
