package words

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gpusched/gpusched/daemon/job"
)

func Event(e *job.Event) string {
	if e.Called != "" {
		return jobEvent(e)
	}
	switch e.Kind {
	case job.EventForgotten:
		return "no longer on record: " + job.Count(int64(e.Count), "old job")
	case job.EventGPU:
		if e.GPU.InService {
			return gpuName(e.GPU) + " is in service"
		}
		return gpuName(e.GPU) + " is " + string(e.GPU.State) + by(e) + because(e)
	case job.EventFault:
		return gpuName(e.GPU) + " is out of service" + because(e)
	case job.EventDrain:
		if *e.On {
			return "no new job starts: drained" + by(e) + because(e)
		}
		return "jobs may start again"
	case job.EventReservation:
		if *e.On {
			return fmt.Sprintf("reservation %d was made", e.Reservation) + by(e) + because(e)
		}
		return fmt.Sprintf("reservation %d is over", e.Reservation)
	case job.EventStrangerTold:
		return e.User + " was told: " + Say(e.Why)
	case job.EventStrangerEnded:
		return e.User + "'s use of a GPU without a job is being ended: " + Say(e.Why)
	case job.EventSettings:
		return "new settings are in force"
	case job.EventGap:
		return "events before this are no longer kept: list the jobs again"
	}
	return ""
}

func jobEvent(e *job.Event) string {
	who := "job " + e.Called
	if e.Name != "" {
		who += " (" + e.Name + ")"
	}
	who += " of " + e.User
	switch e.Kind {
	case job.EventQueued:
		if e.By != "" {
			return who + " is queued, held" + by(e)
		}
		return who + " is queued"
	case job.EventPlaced:
		return who + " is being started" + onGPUs(e)
	case job.EventStarted:
		return who + " runs" + onGPUs(e)
	case job.EventSpawned:
		return who + " has started its last task"
	case job.EventEnding:
		if e.Stop != "" {
			return who + " is being stopped" + by(e)
		}
		return who + " is ending"
	case job.EventEnded:
		return who + " has ended" + how(e)
	case job.EventRequeued:
		return who + " waits again" + how(e)
	case job.EventHeld:
		return who + " is held" + by(e)
	case job.EventReleased:
		return who + " is no longer held"
	case job.EventSuspended:
		return who + " is suspended" + by(e)
	case job.EventResumed:
		return who + " goes on"
	case job.EventParked:
		return who + " is parked" + by(e) + because(e)
	case job.EventUnparked:
		return who + " has its GPUs again" + onGPUs(e)
	case job.EventUpdated:
		return who + " was changed" + by(e) + because(e)
	}
	return who
}

func by(e *job.Event) string {
	if e.By == "" {
		return ""
	}
	return " by " + e.By
}

func because(e *job.Event) string {
	if why := Say(e.Why); why != "" {
		return ": " + why
	}
	return ""
}

func how(e *job.Event) string {
	if e.Result == nil {
		return ""
	}
	return ": " + Result(&e.Result.Result)
}

func onGPUs(e *job.Event) string {
	switch len(e.GPUs) {
	case 0:
		return " without a GPU"
	case 1:
		return fmt.Sprintf(" on GPU %d", e.GPUs[0])
	}
	return " on GPUs " + strings.Join(job.Each(e.GPUs, strconv.Itoa), ",")
}

func gpuName(g *job.GPUNews) string {
	if g.Index < 0 {
		return "GPU " + g.UUID
	}
	return fmt.Sprintf("GPU %d", g.Index)
}
