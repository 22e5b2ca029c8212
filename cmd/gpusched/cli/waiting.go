package cli

import (
	"fmt"
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// Waiting says why and how long a queued job waits. The text begins with a colon. It is "" if
// nothing is known.
func Waiting(t *term.Terminal, j api.Job) string {
	var parts []string
	if j.Array != nil {
		parts = append(parts, Tasks(j.Array))
	}
	if why := j.Because(t.Reader()); why != "" {
		parts = append(parts, why)
	}
	switch {
	case !j.ExpectedStart.IsZero():
		parts = append(parts, "expected to start "+StartText(t, j))
	case j.StartUnknown:
		parts = append(parts, UnknownStart(j))
	}
	return Colon(strings.Join(parts, "; "))
}

func Tasks(a *api.Array) string {
	text := Count(a.Size, "task")
	if a.Limit > 0 {
		text += fmt.Sprintf(", %d at a time", a.Limit)
	}
	return text
}

// GPUNames formats GPUs as "GPU 0", "GPUs 0,2" or "GPU 2 (0.5 of it)".
func GPUNames(list []api.Allocation) string {
	names := GPUIndexes(list)
	if len(list) == 1 {
		if isPartial(list[0]) {
			names += " (" + job.FormatGPUs(list[0].Milli) + " of it)"
		}
		return "GPU " + names
	}
	for _, g := range list {
		if isPartial(g) {
			names += fmt.Sprintf(" (%s of GPU %d)", job.FormatGPUs(g.Milli), g.Index)
		}
	}
	return "GPUs " + names
}
