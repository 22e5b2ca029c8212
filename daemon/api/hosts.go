package api

import (
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// HostAnswer is the answer of one machine, if several machines were asked. The jobs and GPUs of the
// machine are not in it, but in the lists of all machines, with the machine's name. The command
// line makes HostAnswers. Daemons do not.
type HostAnswer struct {
	Host  string `json:"host"`            // name that the user typed; "." is this machine
	Error *Error `json:"error,omitempty"` // why this machine's part is missing

	// These fields are from a status.
	Version   string            `json:"version,omitempty"`
	StartedAt time.Time         `json:"started_at,omitzero"`
	Health    job.Health        `json:"health,omitempty"`
	Counts    map[job.State]int `json:"counts,omitempty"` // live jobs by state
	View      *job.HostView     `json:"view,omitempty"`
	Problem   *job.Check        `json:"problem,omitempty"`

	// Omitted comes from a listing. It is the number of selected waiting jobs that were left out.
	Omitted int `json:"omitted,omitempty"`

	// Drain comes from a listing or a status. It is set while no job may start on the machine, or
	// while a shutdown is planned.
	Drain *Drain `json:"drain,omitempty"`

	// These fields are from a listing of GPUs.
	Driver        string        `json:"driver,omitempty"`
	CUDA          string        `json:"cuda,omitempty"`
	GPUProblem    string        `json:"gpu_problem,omitempty"`
	ProblemDetail string        `json:"gpu_problem_detail,omitempty"`
	SampledAt     time.Time     `json:"sampled_at,omitzero"`
	Links         []job.GPULink `json:"links,omitempty"`
	Reservations  []Reservation `json:"reservations,omitempty"`
}

// OfStatus copies what a status says about the machine.
func (h *HostAnswer) OfStatus(r *StatusReply) {
	h.Version, h.StartedAt = r.Version, r.StartedAt
	h.Health, h.Problem = r.Health, r.Problem
	h.Counts, h.View, h.Drain = r.Counts, &r.Host, r.Drain
}

// OfGPUs copies what a listing of GPUs says about the machine.
func (h *HostAnswer) OfGPUs(r *GPUsReply) {
	h.Driver, h.CUDA, h.SampledAt = r.Driver, r.CUDA, r.SampledAt
	h.GPUProblem, h.ProblemDetail = r.Problem, r.ProblemDetail
	h.Links, h.Reservations = r.Links, r.Reservations
}
