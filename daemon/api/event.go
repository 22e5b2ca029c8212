package api

import "github.com/gpusched/gpusched/daemon/job"

// Event is one change, with the fields that everybody may see.
type Event struct {
	Schema string `json:"schema"`
	job.Event
}

// isWhole reports whether the event has the fields that its kind needs.
func (e *Event) isWhole() bool {
	switch e.Kind {
	case job.EventGPU, job.EventFault:
		return e.GPU != nil
	case job.EventDrain, job.EventReservation:
		return e.On != nil
	}
	return true
}
