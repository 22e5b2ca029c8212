package engines

import (
	"context"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// Engine runs jobs: the daemon of this machine (*api.Client), or what a user has chosen in its place.
// Its methods are those of api.Client and mean the same: errors that are for people are *api.Error, a job
// is named as "12" or "7_3", and what an engine cannot do it refuses, saying what can be done instead.
type Engine interface {
	List(ctx context.Context, q api.ListQuery) (api.ListReply, error)
	IDs(ctx context.Context, q api.ListQuery) ([]byte, error)
	Job(ctx context.Context, id string) (api.JobReply, error)
	Results(ctx context.Context, id string) (api.JobReply, error)
	Why(ctx context.Context, id string) (api.JobReply, error)
	Wait(ctx context.Context, id string, timeout time.Duration) (api.JobReply, error)
	Status(ctx context.Context) (api.StatusReply, error)
	Health(ctx context.Context) (api.HealthReply, error)
	Version(ctx context.Context) (api.VersionReply, error)

	Submit(ctx context.Context, r api.SubmitRequest) (api.SubmitReply, error)
	Cancel(ctx context.Context, id string, r api.CancelRequest) (api.JobReply, error)
	Hold(ctx context.Context, id string) (api.JobReply, error)
	Release(ctx context.Context, id string) (api.JobReply, error)
	Requeue(ctx context.Context, id string) (api.JobReply, error)
	Suspend(ctx context.Context, id string) (api.JobReply, error)
	Resume(ctx context.Context, id string) (api.JobReply, error)
	Open(ctx context.Context, id string) (api.JobReply, error)
	Update(ctx context.Context, id string, r job.Change) (api.JobReply, error)
	Many(ctx context.Context, r api.ManyRequest, told func(api.ManyPart)) error
	Takes(ctx context.Context, q api.ListQuery, command job.CommandKind) (ids []string, users int, err error)

	GPUs(ctx context.Context) (api.GPUsReply, error)
	PauseGPU(ctx context.Context, index int, r api.PauseRequest) (api.GPUsReply, error)
	ResumeGPU(ctx context.Context, index int) (api.GPUsReply, error)
	DrainGPU(ctx context.Context, index int, r api.PauseRequest) (api.GPUsReply, error)
	UndrainGPU(ctx context.Context, index int) (api.GPUsReply, error)

	History(ctx context.Context, q api.HistoryQuery) (api.HistoryReply, error)
	EachPast(ctx context.Context, q api.HistoryQuery, f func(api.PastJob) error) error
}

var _ Engine = (*api.Client)(nil)
