package submit

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/gpusched/gpusched/cmd/gpusched/afar"
	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/jobenv"
	"github.com/gpusched/gpusched/daemon/api"
)

// prepareRemote prepares the job of a line that goes to another machine.
func (in *fileOfJobs) prepareRemote(a *cli.App, l *lineJob) (err error) {
	if l.remote, err = l.cmd.newRemoteJob(a, in.fleet); err != nil {
		return err
	}
	l.remote.ofFile = true
	if l.cmd.Request.Batch == in.batch { // --batch was not typed: it is the file's default
		l.remote.words = slices.Concat(a.Words[:1], []string{"--batch=" + in.batch}, a.Words[1:])
	}
	l.req.TimeLimit, l.req.GPUMilli = l.cmd.Request.TimeLimit, l.cmd.gpuMilli()
	return nil
}

// These limit the dry runs that are made for a file of jobs before its first job is queued.
const (
	mostLooked   = 100 // limit on the needs checked on a machine; further lines can only fail when they are queued
	lookedAtOnce = 4   // less than the number of unauthenticated connections that sshd allows
)

// askMachines asks each candidate machine which lines it can't run. It makes one dry run for each
// different need.
func (in *fileOfJobs) askMachines(ctx context.Context, list []lineJob) (wrong []string, err error) {
	byHost := map[string]map[string]*remoteJob{} // first by machine, then by need
	for i := range list {
		if n := list[i].remote; n != nil {
			for _, host := range n.hosts {
				if byHost[host] == nil {
					byHost[host] = map[string]*remoteJob{}
				}
				byHost[host][n.needsKey()] = n
			}
		}
	}
	var all sync.WaitGroup
	lacks := make(map[string]func(need string) error, len(byHost))
	var mu sync.Mutex // guards the answers in lacks
	for host, needs := range byHost {
		all.Go(func() {
			its := lackedBy(ctx, host, needs)
			mu.Lock()
			defer mu.Unlock()
			lacks[host] = its
		})
	}
	all.Wait()
	for i := range list {
		if n := list[i].remote; n != nil {
			for _, host := range n.hosts {
				if err := lacks[host](n.needsKey()); err != nil {
					n.lacks[host] = err
				}
			}
		}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return in.dropMachines(list)
}

// lackedBy asks one machine about all needs. It returns a function that gives the machine's answer
// to a need. If the machine can't be reached, all answers are errors.
func lackedBy(ctx context.Context, host string, byNeed map[string]*remoteJob) func(need string) error {
	lacks := map[string]error{}
	needs := slices.Sorted(maps.Keys(byNeed))
	for some := range slices.Chunk(needs[:min(len(needs), mostLooked)], lookedAtOnce) {
		var all sync.WaitGroup
		offers := make([]offer, len(some))
		for i, need := range some {
			all.Go(func() { offers[i] = byNeed[need].askOffer(ctx, host) })
		}
		all.Wait()
		for i, need := range some {
			lacks[need] = offers[i].err
		}
		if err := offers[0].err; err != nil && afar.WireError(err).Code == api.CodeUnreachable {
			return func(string) error { return err }
		}
	}
	return func(need string) error { return lacks[need] }
}

// needsKey returns the same key for jobs with the same directory, program, script, set-up and image.
func (n *remoteJob) needsKey() string {
	argv := n.c.Command
	if argv[0] == "--" {
		argv = argv[1:]
	}
	c := n.c
	// Strings can always be marshalled.
	program := []string{argv[0], jobenv.ScriptOf(argv)}
	text, _ := json.Marshal([]any{c.Chdir, program, c.Env, c.SetupOptions, c.ContainerOptions, c.Force})
	return string(text)
}

// dropMachines returns the lines that no machine can run. For other lines, it removes the machines
// that can't run them. It fails if no candidate of a line can be reached.
func (in *fileOfJobs) dropMachines(list []lineJob) (wrong []string, err error) {
	left := map[string]*outLines{}
	for i := range list {
		l := &list[i]
		if l.remote == nil || len(l.remote.lacks) == 0 {
			continue
		}
		if len(l.remote.lacks) == len(l.remote.hosts) {
			var offers []offer
			for _, host := range l.remote.hosts {
				offers = append(offers, offer{host: host, err: l.remote.lacks[host]})
			}
			e := afar.WireError(l.remote.refusedByAll(offers))
			if e.Code == api.CodeUnreachable {
				return nil, cli.Refuse(e.Code, "no job is queued", "line %d: %s", l.number, e.Message)
			}
			wrong = append(wrong, fmt.Sprintf("line %d: %s", l.number, e))
			continue
		}
		for _, host := range l.remote.hosts {
			switch err := l.remote.lacks[host]; {
			case err == nil:
			case left[host] == nil:
				left[host] = &outLines{first: l.number, err: err}
			default:
				left[host].more++
			}
		}
	}
	for _, host := range slices.Sorted(maps.Keys(left)) {
		left[host].printLacking(in, host)
	}
	return wrong, nil
}

// outLines are the lines that one machine can't run.
type outLines struct {
	first, more int
	err         error // why the machine can't run the first of them
}

// printLacking prints which lines a machine can't run.
func (o *outLines) printLacking(in *fileOfJobs, host string) {
	switch {
	case afar.WireError(o.err).Code == api.CodeUnreachable:
		drop(in.a, in.fleet, host, o.err)
	case o.more == 0:
		in.a.Note("line %d can't run on %s: %s", o.first, host, cli.OneLine(o.err))
	default:
		in.a.Note("line %d and %d more can't run on %s: %s", o.first, o.more, host, cli.OneLine(o.err))
	}
}

// submit queues the job of a line. The second result is the machine that got the request, or "" for
// this machine. It is nil if no machine got the request.
func (l *lineJob) submit(
	ctx context.Context, a *cli.App, copies snapshots,
) (reply api.SubmitReply, target *string, err error) {
	if l.remote == nil {
		reply, err = copies.submit(ctx, a, l.req, func(req api.SubmitRequest) (api.SubmitReply, error) {
			return l.engine.Submit(ctx, req)
		})
		return reply, new(string), err
	}
	reply, host, err := l.remote.submit(ctx)
	if host != "" {
		target = &host
	}
	return reply, target, err
}

// printProgress prints how much of the file is queued. It is called if the submission of a line was
// cut off. The argument index is the index of that line.
func (l *lineJob) printProgress(a *cli.App, done, total, index int, host *string) {
	queued := fmt.Sprintf("%d of %s queued", done, cli.Count(total, "job"))
	if host == nil {
		a.Note("%s; line %d and the other %d are not", queued, l.number, total-index-1)
		return
	}
	see := "gpusched list"
	if *host != "" {
		see = "gpusched " + cli.HostsFlag + " " + *host + " list --mine -a"
	}
	a.Note("%s; line %d may be queued too (see '%s'), and the other %d are not", queued, l.number, see, total-index-1)
}
