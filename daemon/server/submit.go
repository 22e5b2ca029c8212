package server

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// submit queues a job as the user at the other end.
func (s *Server) submit(r *request) (any, error) {
	var in api.SubmitRequest
	if err := decode(r, &in, s.opt.Site().Limits.RequestBytes); err != nil {
		return nil, err
	}
	sub, err := submission(in)
	if err != nil {
		return nil, err
	}
	if err := checkProgram(s.opt.Site().AllowedPaths, sub.Payload, sub.Request.Array); err != nil {
		return nil, err
	}
	sub.Owner = job.Owner{UID: r.who.UID, GID: r.who.GID, User: r.who.User, Groups: s.quotaGroups(r.peer)}
	if r.person != r.who.UID {
		sub.Principal = &job.Account{UID: r.person, User: s.userName(r.person)}
	}
	sub.GIDs = r.peer.gids()
	sub.Request.Shape, sub.Request.Script = shapeOf(r.who.UID, sub.Payload.Argv), scriptOf(r.who.UID, sub.Payload.Argv)
	sub.Admin = r.who.Admin
	if sub.Payload.Limits, err = s.takeOver(r); err != nil {
		return nil, err
	}
	if err := sub.Validate(); err != nil {
		return nil, err
	}
	out, err := s.backend.Submit(r.Context(), sub, in.DryRun)
	if err != nil {
		return nil, err
	}
	reply := api.SubmitReply{Schema: api.Schema, Job: s.namer().renderJob(out.JobView), Known: out.Known}
	for _, p := range out.Unit {
		reply.Unit = append(reply.Unit, api.Property{Name: p.Name, Value: p.Value})
	}
	return reply, nil
}

// submission converts the wire form. It fills in nothing that depends on the
// site; what is absent stays absent.
func submission(in api.SubmitRequest) (job.Submission, error) {
	q, err := wish(in)
	if err != nil {
		return job.Submission{}, err
	}
	mode := job.EnvMode(in.EnvMode)
	if mode == "" {
		mode = job.EnvInherit
	}
	sub := job.Submission{
		Key: in.Key, Label: job.Label{Name: in.Name, Comment: in.Comment, Tags: in.Tags}, Request: q,
		Payload: job.Payload{
			Argv: texts(in.Argv), EnvMode: mode, Env: texts(in.Env), Dir: string(in.Dir), Umask: in.Umask,
		},
		Requeue: in.Requeue,
	}
	if in.GraceSeconds != nil {
		grace := min(seconds(*in.GraceSeconds), job.MaxDuration)
		sub.Grace = &grace
	}
	return sub, nil
}

// wish converts what a job asks of the machine.
func wish(in api.SubmitRequest) (job.Request, error) {
	var p job.Problems
	prio, err := parsePriority(in.Priority)
	if err != nil {
		p = append(p, err.Error())
	}
	array, err := arrayWish(in.Array)
	if err != nil {
		p = append(p, err.Error())
	}
	if in.GraceSeconds != nil && *in.GraceSeconds < 0 {
		p = append(p, "the grace must not be negative (--grace)")
	}
	return job.Request{
		GPUMilli: in.GPUMilli, GPUIDs: in.GPUIDs, GPUsFrom: in.GPUsFrom, GPUType: in.GPUType,
		GPUMemBytes: in.GPUMemBytes, GPUVisible: in.GPUVisible, MemBytes: in.MemBytes, CPUs: in.CPUs,
		TimeLimit: seconds(in.TimeLimitSeconds), Priority: prio,
		MaxLoadPercent: in.MaxLoadPercent, MaxUsedPercent: in.MaxUsedPercent, Spread: in.Spread,
		OnTimeout: job.TimeoutAction(in.OnTimeout), WarnSignal: in.WarnSignal, WarnBefore: seconds(in.WarnBeforeSeconds),
		Preemptible: in.Preemptible, Retries: in.Retries, Backoff: seconds(in.BackoffSeconds),
		Begin: moment(in.Begin), Hold: in.Hold, After: dependencies(in.After), Array: array, Dedup: in.Dedup,
	}, p.Err()
}

// arrayWish reads the tasks' numbers and parameters. With parameters alone the
// tasks are their combinations.
func arrayWish(in *api.ArrayWish) (*job.Array, error) {
	if in == nil {
		return nil, nil
	}
	var params []job.Param
	for _, p := range in.Params {
		params = append(params, job.Param{Name: p.Name, Values: p.Values})
	}
	if len(params) == 0 {
		return job.ParseArray(in.Spec)
	}
	text, only := strings.CutPrefix(in.Spec, "%")
	if in.Spec == "" || only {
		limit, err := strconv.ParseUint(cmp.Or(text, "0"), 10, 31)
		if err != nil || only && limit == 0 {
			return nil, fmt.Errorf("%q is not a limit of tasks: use %%2 for two at a time (--array)", in.Spec)
		}
		return job.SweepArray(params, int(limit))
	}
	a, err := job.ParseArray(in.Spec)
	if err == nil {
		a.Params = params // the submission's own check says whether they fit
	}
	return a, err
}

func parsePriority(s string) (job.Priority, error) {
	if s == "" {
		return job.Priority{}, nil
	}
	return job.ParsePriority(s)
}

// seconds converts without overflow: what is out of range stays out of range.
func seconds(n int64) time.Duration {
	if n > int64(job.MaxDuration/time.Second) {
		return math.MaxInt64
	}
	if n < 0 {
		return -1
	}
	return time.Duration(n) * time.Second
}

func texts(list [][]byte) []string {
	out := make([]string, len(list))
	for i, b := range list {
		out[i] = string(b)
	}
	return out
}

func byteLists(list []string) [][]byte {
	out := make([][]byte, len(list))
	for i, s := range list {
		out[i] = []byte(s)
	}
	return out
}
