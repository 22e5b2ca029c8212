package api

import "github.com/gpusched/gpusched/daemon/job"

// Event is one change, as everybody may see it.
type Event struct {
	Schema string `json:"schema"`
	job.Event
}
