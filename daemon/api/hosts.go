package api

import (
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// HostAnswer is what one of several machines answered, besides its jobs and GPUs: these stand with
// those of the others, and bear its name. The command line makes it; no daemon does.
type HostAnswer struct {
	Host  string `json:"host"`            // as the user calls it; "." is this machine
	Error *Error `json:"error,omitempty"` // why there is nothing of it in the answer

	// Of a status.
	Version   string            `json:"version,omitempty"`
	StartedAt time.Time         `json:"started_at,omitzero"`
	Health    job.Health        `json:"health,omitempty"`
	Counts    map[job.State]int `json:"counts,omitempty"` // jobs by state, live ones
	View      *job.HostView     `json:"view,omitempty"`
	Problem   *job.Check        `json:"problem,omitempty"`

	// Of a list: waiting jobs that match and were left out.
	Omitted int `json:"omitted,omitempty"`

	// Of a list or a status: no job starts there.
	Drain *Drain `json:"drain,omitempty"`

	// Of GPUs.
	Driver        string        `json:"driver,omitempty"`
	CUDA          string        `json:"cuda,omitempty"`
	GPUProblem    string        `json:"gpu_problem,omitempty"`
	ProblemDetail string        `json:"gpu_problem_detail,omitempty"`
	SampledAt     time.Time     `json:"sampled_at,omitzero"`
	Links         []job.GPULink `json:"links,omitempty"`
	Reservations  []Reservation `json:"reservations,omitempty"`
}

// OfStatus takes over what a status says of its machine.
func (h *HostAnswer) OfStatus(r *StatusReply) {
	h.Version, h.StartedAt = r.Version, r.StartedAt
	h.Health, h.Problem = r.Health, r.Problem
	h.Counts, h.View, h.Drain = r.Counts, &r.Host, r.Drain
}

// OfGPUs takes over what a listing of GPUs says of its machine.
func (h *HostAnswer) OfGPUs(r *GPUsReply) {
	h.Driver, h.CUDA, h.SampledAt = r.Driver, r.CUDA, r.SampledAt
	h.GPUProblem, h.ProblemDetail = r.Problem, r.ProblemDetail
	h.Links, h.Reservations = r.Links, r.Reservations
}
