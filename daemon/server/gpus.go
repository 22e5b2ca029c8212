package server

import (
	"fmt"
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
		Schema: api.Schema, Driver: v.Driver, CUDA: v.CUDA, Problem: v.Problem, ProblemDetail: v.ProblemDetail,
		SampledAt: v.SampledAt.UTC(), GPUs: s.renderGPUs(v.GPUs, r.who), Links: v.Links,
		Reservations: renderReservations(v.Reservations),
	}
	return reply, nil
}

// pause keeps new jobs off a GPU.
func (s *Server) pause(r *request) (any, error) { return s.withhold(r, job.CommandPauseGPU) }

// drainGPU is pause for a GPU that is to be taken out of service.
func (s *Server) drainGPU(r *request) (any, error) { return s.withhold(r, job.CommandDrainGPU) }

func (s *Server) withhold(r *request, kind job.CommandKind) (any, error) {
	var in api.PauseRequest
	if err := decode(r, &in, maxBodyBytes); err != nil {
		return nil, err
	}
	if !fitsComment(in.Reason) {
		return nil, usagef("%s", reasonProblem())
	}
	if now := time.Now(); !in.Until.IsZero() && (!in.Until.After(now) || in.Until.After(now.Add(job.MaxDuration))) {
		return nil, usagef("%s has passed or is too far away: name a time within 10 years (--until)", in.Until.Format(time.RFC3339))
	}
	return s.gpuCommand(r, job.Command{Kind: kind, Reason: in.Reason, Until: moment(in.Until)})
}

func fitsComment(text string) bool { return len(text) <= job.MaxCommentBytes && job.Printable(text) }

func reasonProblem() string {
	return fmt.Sprintf("the reason must be printable and at most %d bytes (--reason)", job.MaxCommentBytes)
}

// resume undoes a pause or a drain.
func (s *Server) resume(r *request) (any, error) {
	if err := decode(r, &struct{}{}, maxBodyBytes); err != nil {
		return nil, err
	}
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

// renderGPUs converts the GPUs for one reader.
func (s *Server) renderGPUs(list []job.GPUView, who job.Actor) []api.GPU {
	out := make([]api.GPU, len(list))
	for i, g := range list {
		out[i] = api.GPU{
			Index: g.Index, UUID: g.UUID, Minor: g.Minor, Name: g.Name, PCI: g.PCI,
			State: g.State, StateDetail: words.Say(g.StateDetail),
			FreeMilli: g.FreeMilli, NUMANode: g.NUMANode, CPUs: g.CPUs,
			MemTotalBytes: g.MemTotalBytes, MemUsedBytes: g.MemUsedBytes, MemFreeBytes: g.MemFreeBytes,
			UtilPercent: g.UtilPercent, TempC: g.TempC, PowerMilliW: g.PowerMilliW, UnlistedBytes: g.UnlistedBytes,
		}
		if c := g.Control; c.Paused { // else they report who resumed it
			out[i].Paused, out[i].Drain = true, c.Drain
			out[i].PausedReason, out[i].PausedBy = c.Reason, c.By
			out[i].PausedAt, out[i].PausedUntil = moment(c.At), moment(c.Until)
		}
		for _, id := range g.Jobs {
			out[i].Jobs = append(out[i].Jobs, id)
		}
		for _, h := range g.Shares {
			out[i].Shares = append(out[i].Shares, api.Share{
				Job: int64(h.Job), Called: h.Called, Milli: h.Milli, PromiseBytes: h.PromiseBytes,
				UsedBytes: h.Use.UsedBytes, PeakBytes: h.Use.PeakBytes,
			})
		}
		for _, p := range g.Processes {
			out[i].Processes = append(out[i].Processes, s.renderProcess(p, who))
		}
	}
	return out
}

// renderProcess shows a process's name to its owner and admins only: names of
// programs say what a user is working on (invariant 3).
func (s *Server) renderProcess(p job.GPUProcess, who job.Actor) api.GPUProcess {
	out := api.GPUProcess{PID: p.PID, UID: p.UID, UsedBytes: p.UsedBytes, Job: int64(p.Job), Stray: p.Stray}
	if p.UID >= 0 {
		out.User = s.userName(p.UID)
	}
	if who.Admin || p.UID == who.UID {
		out.Comm = p.Comm
	}
	return out
}
