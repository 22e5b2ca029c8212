package server

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/words"
)

// gpus answers with the GPUs and what the driver says.
func (s *Server) gpus(r *request) (any, error) {
	v, err := s.backend(r.Context()).Query(r.Context(), job.Query{IDs: []job.ID{}}) // no jobs
	if err != nil {
		return nil, err
	}
	reply := api.GPUsReply{
		Schema: api.Schema, GPUSource: v.GPUSource, GPUs: s.renderGPUs(v.GPUs, r.who), Links: v.Links,
		Reservations: renderReservations(v.Reservations),
	}
	reply.SampledAt = v.SampledAt.UTC()
	return reply, nil
}

// withhold keeps new jobs off a GPU.
func withhold(kind job.CommandKind) func(*Server, *request) (any, error) {
	return func(s *Server, r *request) (any, error) {
		c, err := pauseCommand(r, kind)
		if err != nil {
			return nil, err
		}
		return s.gpuCommand(r, c)
	}
}

// pauseCommand says why jobs are to be kept away and until when.
func pauseCommand(r *request, kind job.CommandKind) (job.Command, error) {
	in := r.body.(*api.PauseRequest)
	if !fitsComment(in.Reason) {
		return job.Command{}, usagef("%s", reasonProblem())
	}
	if now := time.Now(); !in.Until.IsZero() && (!in.Until.After(now) || in.Until.After(now.Add(job.MaxDuration))) {
		return job.Command{}, usagef("%s has passed or is too far away: name a time within 10 years (--until)", in.Until.Format(time.RFC3339))
	}
	return job.Command{Kind: kind, Reason: in.Reason, Until: moment(in.Until)}, nil
}

// drainAll keeps all jobs from starting.
func (s *Server) drainAll(r *request) (any, error) {
	c, err := pauseCommand(r, job.CommandDrain)
	if err != nil {
		return nil, err
	}
	return s.drainCommand(r, c)
}

// undrainAll lets them start again.
func (s *Server) undrainAll(r *request) (any, error) {
	return s.drainCommand(r, job.Command{Kind: job.CommandUndrain})
}

func (s *Server) drainCommand(r *request, c job.Command) (any, error) {
	if err := s.backend(r.Context()).Do(r.Context(), r.who, c); err != nil {
		return nil, err
	}
	return s.status(r)
}

// renderDrain is the order by which no job starts; nil: there is none.
func renderDrain(g *job.GPUControl) *api.Drain {
	if g == nil {
		return nil
	}
	return &api.Drain{
		By: g.By, Reason: g.Reason, At: moment(g.At), Until: moment(g.Until),
		Sentence: words.Reason(job.Reason{Code: job.ReasonDrained, GPU: job.NoGPU, Detail: g.Say()}),
	}
}

func fitsComment(text string) bool { return len(text) <= job.MaxCommentBytes && job.Printable(text) }

func reasonProblem() string {
	return fmt.Sprintf("the reason must be printable and at most %d bytes (--reason)", job.MaxCommentBytes)
}

// resume undoes a pause or a drain.
func (s *Server) resume(r *request) (any, error) {
	return s.gpuCommand(r, job.Command{Kind: job.CommandResumeGPU})
}

func (s *Server) gpuCommand(r *request, c job.Command) (any, error) {
	index, err := strconv.ParseUint(r.PathValue("index"), 10, 16)
	if err != nil || index >= job.MaxGPUs {
		return nil, usagef("%q is not a GPU index (see 'gpusched gpus')", r.PathValue("index"))
	}
	c.GPU = int(index)
	if err := s.backend(r.Context()).Do(r.Context(), r.who, c); err != nil {
		return nil, err
	}
	return s.gpus(r)
}

// renderGPUs makes the GPUs fit for one reader, who sees the names of processes
// only where they are the reader's own or the reader is an admin: names of programs
// say what a user is working on (invariant 3).
func (s *Server) renderGPUs(list []job.GPUView, who job.Actor) []api.GPU {
	out := make([]api.GPU, len(list))
	for i, g := range list {
		out[i].GPU, out[i].StateDetail, out[i].StateWhy = g.GPU, words.Say(g.StateDetail), g.StateDetail
		if c := g.Control; c.Paused { // else they report who resumed it
			out[i].Paused, out[i].Drain, out[i].PausedReason = true, c.Drain, c.Reason
			out[i].PausedBy, out[i].PausedAt, out[i].PausedUntil = c.By, moment(c.At), moment(c.Until)
		}
		out[i].Processes = slices.Clone(g.Processes)
		for n := range out[i].Processes {
			p := &out[i].Processes[n]
			if p.UID >= 0 {
				p.User = s.nameOfProcess(p.UID)
			}
			person, certain := s.opt.Person(p.UID)
			if !who.Admin && p.UID != who.UID && (person != who.UID || !certain) {
				p.Comm = ""
			}
		}
	}
	return out
}
