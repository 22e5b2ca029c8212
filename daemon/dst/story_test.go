package dst

import (
	"fmt"
	"strings"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/words"
)

// tellStep writes what the core was told and what it decided.
func (w *World) tellStep(ev core.Event, eff *core.Effects) {
	if _, ok := ev.(core.Tick); ok && len(eff.Records)+len(eff.Actions)+len(eff.Replies) == 0 {
		return
	}
	var out []string
	for _, r := range eff.Records {
		if r.Job != nil {
			out = append(out, "record "+storyOf(r.Job))
		} else if r.GPU != nil {
			out = append(out, fmt.Sprintf("record %s paused %t fault %q", r.GPU.UUID, r.GPU.Paused, r.GPU.Fault.Recovery))
		}
	}
	for _, a := range eff.Actions {
		if s, ok := a.(core.Start); ok {
			out = append(out, fmt.Sprintf("start %d", s.Job.ID))
			continue
		}
		out = append(out, fmt.Sprintf("%T%+v", a, a))
	}
	w.tell("core %s: %s", eventStory(ev), strings.Join(out, "; "))
}

func storyOf(j *job.Job) string {
	s := fmt.Sprintf("job %d %s", j.ID, j.State)
	if a := j.Attempt; a != nil {
		s += fmt.Sprintf(" attempt %d on %s", a.Number, job.FormatGPUList(j.GPUIndexes()))
		if a.Result != nil {
			s += " (" + words.Result(a.Result) + ")"
		}
	}
	if j.Stop != "" {
		s += " stop " + string(j.Stop)
	}
	return s
}

func eventStory(ev core.Event) string {
	switch e := ev.(type) {
	case core.Submit:
		return "submit " + e.Submission.Label.Name
	case core.Sampled:
		return fmt.Sprintf("sampled %d, %d GPUs %s", e.Number, len(e.Snap.Devices), e.Snap.Problem)
	case core.Listed:
		return fmt.Sprintf("listed %d units", len(e.Units))
	case core.Configured:
		return "configured"
	case core.Command:
		return fmt.Sprintf("command %s job %d GPU %d", e.What.Kind, e.What.Job, e.What.GPU)
	}
	return fmt.Sprintf("%T%+v", ev, ev)
}
