package onslurm

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched-slurm/slurmexec"
	"github.com/gpusched/gpusched/cmd/gpusched/engines"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// An Engine is Slurm as one user sees it. New makes an Engine. It is safe for concurrent use.
type Engine struct {
	slurm slurmexec.Runner
	uid   int
	note  func(string)

	// Names is the prefix of the ids of jobs, as in slurm:12 (api.Job.Engine). "" means no prefix.
	Names string

	meant      []int    // GPUs that the current command names (Meant)
	controlled []string // nodes that the command has already changed
}

// New returns an Engine for the user uid, with the Slurm that an environment selects. If a part of
// a request has another meaning on Slurm, the engine calls note with a sentence about this.
func New(environ []string, uid int, note func(string)) *Engine {
	return &Engine{slurm: slurmexec.New(environ), uid: uid, note: note}
}

// Other is like New, in the form that the command line needs. It also sets Engine.Names to names.
func Other(environ []string, uid int, names string, note func(string)) engines.Other {
	e := New(environ, uid, note)
	e.Names = names
	return e
}

// With returns an engine whose jobs have further sbatch options, for instance from a job script in
// a form that only Slurm understands. e itself does not change.
func (e *Engine) With(options ...string) engines.Other {
	with := *e
	with.slurm.Options = slices.Concat(e.slurm.Options, options)
	return &with
}

// Get answers queries that Slurm can answer. Slurm does
// not report which jobs are ahead of a waiting job.
func (e *Engine) Get(ctx context.Context, r *api.Route, on string, query, out any) (err error) {
	id := trimManager(on)
	switch r {
	case api.RouteList:
		q := query.(api.ListQuery)
		if lines, asked := out.(*[]byte); asked {
			*lines, err = e.lines(ctx, q)
		} else {
			*out.(*api.ListReply), err = e.list(ctx, q)
		}
	case api.RouteShow:
		*out.(*api.JobReply), err = e.show(ctx, id, query.(api.JobQuery).Results)
	case api.RouteWait:
		*out.(*api.JobReply), err = e.wait(ctx, id)
	case api.RouteHistory:
		*out.(*api.HistoryReply), err = e.history(ctx, query.(api.HistoryQuery))
	case api.RouteGPUs:
		*out.(*api.GPUsReply), err = e.listGPUs(ctx)
	case api.RouteStatus:
		*out.(*api.StatusReply), err = e.status(ctx)
	case api.RouteHealth:
		*out.(*api.HealthReply), err = e.health(ctx)
	case api.RouteVersion:
		var said []byte
		said, err = e.slurm.Ask(ctx, "squeue", "--version")
		name := strings.TrimPrefix(strings.TrimSpace(string(said)), "slurm-wlm ")
		*out.(*api.VersionReply) = api.VersionReply{Schema: api.Schema, Version: name}
	default:
		err = unsupported(r)
	}
	return err
}

// Do carries out actions that Slurm allows its users and administrators.
func (e *Engine) Do(ctx context.Context, r *api.Route, on string, body, out any) (err error) {
	id := trimManager(on)
	switch r {
	case api.RouteCancel:
		*out.(*api.JobReply), err = e.cancel(ctx, id, body.(api.CancelRequest))
	case api.RouteUpdate:
		*out.(*api.JobReply), err = e.update(ctx, id, body.(job.Change))
	case api.RouteOpen: // srun runs commands in a job instead (Within)
		*out.(*api.JobReply), err = e.show(ctx, id, false)
	case api.RouteHold:
		*out.(*api.JobReply), err = e.change(ctx, id, "held", isQueued, "uhold", id)
	case api.RouteRelease:
		*out.(*api.JobReply), err = e.change(ctx, id, "released", isQueued, "release", id)
	case api.RouteRequeue: // Slurm would also run an ended job again; all other engines make a new job for that
		started := func(j *api.Job) bool { return isUnended(j) && !isQueued(j) }
		*out.(*api.JobReply), err = e.change(ctx, id, "queued again", started, "requeue", id)
	case api.RouteSuspend:
		*out.(*api.JobReply), err = e.change(ctx, id, "suspended", isRunning, "suspend", id)
		if isCode(err, api.CodeForbidden) {
			err = engines.Refuse(api.CodeForbidden, "'gpusched requeue "+id+"' gives its GPUs back and starts it again later",
				"only Slurm's operators and administrators may suspend job %s", id)
		}
	case api.RouteResume:
		suspended := func(j *api.Job) bool { return !j.SuspendedAt.IsZero() }
		*out.(*api.JobReply), err = e.change(ctx, id, "resumed", suspended, "resume", id)
	case api.RoutePauseGPU, api.RouteDrainGPU, api.RouteResumeGPU, api.RouteUndrainGPU:
		index, _ := strconv.Atoi(on)
		pause, stops := body.(api.PauseRequest)
		*out.(*api.GPUsReply), err = e.controlGPU(ctx, index, stops, pause)
	default:
		err = unsupported(r)
	}
	return err
}

// Stream applies one action to many jobs. It cancels them with one call of scancel. It applies any
// other action to one job after the other.
func (e *Engine) Stream(ctx context.Context, r *api.Route, asked any) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		m, ok := asked.(api.ManyRequest)
		if !ok {
			yield(nil, unsupported(r))
			return
		}
		send := func(part api.ManyPart) bool {
			part.Schema = api.Schema
			return yield(json.Marshal(part))
		}
		atOnce, do := 1, e.doOne
		if m.Command == job.CommandCancel && m.Grace == nil {
			atOnce, do = maxIDsPerCall, e.cancelSome
		}
		for some := range slices.Chunk(m.Jobs, atOnce) {
			part, err := do(ctx, m, some)
			if err != nil {
				yield(nil, err)
				return
			}
			if !send(part) {
				return
			}
		}
		send(api.ManyPart{Done: true})
	}
}

// doOne carries out an action on the first of the jobs. It returns an error only if Slurm cannot be
// reached; a refusal is part of the answer.
func (e *Engine) doOne(ctx context.Context, m api.ManyRequest, ids []string) (part api.ManyPart, err error) {
	reply, err := api.One(ctx, e, ids[0], m)
	var refusal *api.Error
	switch {
	case err == nil:
		part.Jobs = []api.Job{reply.Job}
	case errors.As(err, &refusal) && refusal.Code != api.CodeUnreachable:
		return api.ManyPart{Refused: []api.RefusedJob{{Job: ids[0], Error: *refusal}}}, nil
	}
	return part, err
}

// unsupported refuses a route that Slurm has no counterpart for. Commands that need the route
// refuse earlier (About), so the command line does not get here.
func unsupported(r *api.Route) error {
	return engines.Refuse(api.CodeUsage, "'--on local' asks the scheduler of this machine", "Slurm has no %s", r.Name)
}
