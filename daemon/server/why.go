package server

import (
	"fmt"
	"strings"

	"github.com/gpusched/gpusched/daemon/job"
)

// why says all reasons in one short line: those of the whole machine as
// sentences, then the GPUs by what keeps each. GPUs that are no candidates are
// named only when there is nothing else to say.
func why(list []job.Reason) string {
	var parts, aside []string
	for _, r := range list {
		if r.GPU == job.NoGPU {
			parts = append(parts, r.Sentence())
		}
	}
	for _, g := range groupReasons(list) {
		switch g.first.Code {
		case job.ReasonGPUExcluded, job.ReasonGPUType, job.ReasonGPUFree:
			aside = append(aside, g.String())
		default:
			parts = append(parts, g.String())
		}
	}
	if len(parts) == 0 {
		parts = aside
	}
	return strings.Join(parts, "; ")
}

// reasonGroup is the GPUs that one cause keeps.
type reasonGroup struct {
	first job.Reason
	gpus  []int
	jobs  []job.ID
}

// groupReasons gathers the GPUs by code, in the order of first mention.
func groupReasons(list []job.Reason) []*reasonGroup {
	var groups []*reasonGroup
	byCode := map[job.ReasonCode]*reasonGroup{}
	for _, r := range list {
		if r.GPU == job.NoGPU {
			continue
		}
		g := byCode[r.Code]
		if g == nil {
			g = &reasonGroup{first: r}
			byCode[r.Code], groups = g, append(groups, g)
		}
		g.gpus = append(g.gpus, r.GPU)
		if r.Job != 0 {
			g.jobs = append(g.jobs, r.Job)
		}
	}
	return groups
}

// String is the reason's own sentence for one GPU, a summary for several.
func (g *reasonGroup) String() string {
	if len(g.gpus) == 1 {
		return fmt.Sprintf("GPU %d %s", g.gpus[0], verbed(g.first))
	}
	return fmt.Sprintf("GPUs %s %s", job.FormatGPUList(g.gpus), g.summary())
}

// verbed is the sentence of one GPU, made to follow "GPU 0".
func verbed(r job.Reason) string {
	switch r.Code {
	case job.ReasonGPUMemory:
		return fmt.Sprintf("has %s free, %s needed", job.FormatSize(r.Have), job.FormatSize(r.Need))
	case job.ReasonGPUUnknown, job.ReasonGPULost, job.ReasonGPUSuspect:
		return "is " + strings.TrimPrefix(string(r.Code), "gpu-") + ": " + r.Sentence()
	}
	return "is " + r.Sentence()
}

func (g *reasonGroup) summary() string {
	switch g.first.Code {
	case job.ReasonGPUBusy:
		return "are held by " + idList(g.jobs)
	case job.ReasonGPUMemory:
		return "have too little free memory, " + job.FormatSize(g.first.Need) + " needed"
	case job.ReasonGPUCleaning:
		return "are being checked"
	case job.ReasonGPUExcluded:
		return "are not among those the job may use"
	case job.ReasonGPUType:
		return "are of another model"
	}
	return "are " + strings.TrimPrefix(string(g.first.Code), "gpu-")
}

// idList is "job 3" or "jobs 3,4"; it names up to three, and says that there
// are more.
func idList(ids []job.ID) string {
	var parts []string
	seen := map[job.ID]bool{}
	for _, id := range ids {
		if !seen[id] {
			parts, seen[id] = append(parts, id.String()), true
		}
	}
	switch {
	case len(parts) == 1:
		return "job " + parts[0]
	case len(parts) > 3:
		parts = append(parts[:3], "…")
	}
	return "jobs " + strings.Join(parts, ",")
}
