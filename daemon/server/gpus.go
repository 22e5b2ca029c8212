package server

import (
	"strconv"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// gpus answers with the GPUs and what the driver says.
func (s *Server) gpus(r *request) (any, error) {
	v, err := s.backend.Query(r.Context(), job.Query{})
	if err != nil {
		return nil, err
	}
	return api.GPUsReply{
		Schema: api.Schema, Driver: v.Driver, CUDA: v.CUDA, Problem: v.Problem, ProblemDetail: v.ProblemDetail,
		SampledAt: v.SampledAt.UTC(), GPUs: s.renderGPUs(v.GPUs, r.who),
	}, nil
}

// pause keeps new jobs off a GPU.
func (s *Server) pause(r *request) (any, error) {
	var in api.PauseRequest
	if err := decode(r, &in, maxBodyBytes); err != nil {
		return nil, err
	}
	if len(in.Reason) > job.MaxCommentBytes || !job.Printable(in.Reason) {
		return nil, usagef("the reason must be printable and at most %d bytes (--reason)", job.MaxCommentBytes)
	}
	return s.gpuCommand(r, job.Command{Kind: job.CommandPauseGPU, Reason: in.Reason})
}

// resume undoes a pause.
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
	if err := s.backend.Do(r.Context(), r.who, c); err != nil {
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
			State: g.State, StateDetail: g.StateDetail,
			Paused: g.Control.Paused, PausedReason: g.Control.Reason, PausedBy: g.Control.By,
			MemTotalBytes: g.MemTotalBytes, MemUsedBytes: g.MemUsedBytes, MemFreeBytes: g.MemFreeBytes,
			UtilPercent: g.UtilPercent, TempC: g.TempC, PowerMilliW: g.PowerMilliW,
		}
		for _, id := range g.Jobs {
			out[i].Jobs = append(out[i].Jobs, int64(id))
		}
		for _, p := range g.Processes {
			out[i].Processes = append(out[i].Processes, s.renderProcess(p, who))
		}
	}
	return out
}

// renderProcess shows a process's name to its owner and admins only: names of
// programs say what somebody is working on (invariant 3).
func (s *Server) renderProcess(p job.GPUProcess, who job.Actor) api.GPUProcess {
	out := api.GPUProcess{PID: p.PID, UID: p.UID, UsedBytes: p.UsedBytes, Job: int64(p.Job)}
	if p.UID >= 0 {
		out.User = s.userName(p.UID)
	}
	if who.Admin || p.UID == who.UID {
		out.Comm = p.Comm
	}
	return out
}
