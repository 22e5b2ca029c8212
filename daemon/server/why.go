package server

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gpusched/gpusched/daemon/job"
)

// maxGroups is how many causes that lie with GPUs one line names.
const maxGroups = 2

// why says in one short line what the reader can do most with: what keeps the
// job wherever it would go, and then the GPUs, by the causes that pass soonest.
// GPUs that are no candidates are named only when there is nothing else to say.
func why(list []job.Reason) string {
	if own, ok := ownReason(list); ok {
		return own.Sentence()
	}
	var parts, aside []string
	for _, r := range list {
		if r.GPU == job.NoGPU {
			parts = append(parts, r.Sentence())
		}
	}
	groups := groupReasons(list)
	slices.SortStableFunc(groups, func(a, b *reasonGroup) int { return rank(a.first.Code) - rank(b.first.Code) })
	for _, g := range groups {
		switch {
		case rank(g.first.Code) >= rank(job.ReasonGPUFree):
			aside = append(aside, g.String())
		case len(parts) < maxGroups:
			parts = append(parts, g.String())
		}
	}
	if len(parts) == 0 {
		parts = aside
	}
	return strings.Join(parts, "; ")
}

// ownReason finds the first reason that lies with the job or its owner: while
// there is one, the GPUs do not matter.
func ownReason(list []job.Reason) (job.Reason, bool) {
	for _, code := range []job.ReasonCode{
		job.ReasonAccount, job.ReasonHeld, job.ReasonDependency, job.ReasonBegin, job.ReasonBackoff, job.ReasonArrayLimit,
		job.ReasonQuotaJobs, job.ReasonQuotaGPUs, job.ReasonQuotaHours,
	} {
		if i := slices.IndexFunc(list, func(r job.Reason) bool { return r.Code == code }); i >= 0 {
			return list[i], true
		}
	}
	return job.Reason{}, false
}

// reasonOrder lists what keeps a GPU: first what ends by itself and soon, then what
// a person has to end, then what cannot be ended; from gpu-free on it says nothing
// against the GPU, or nothing that would ever change.
var reasonOrder = []job.ReasonCode{
	job.ReasonGPUCleaning, job.ReasonGPUKept, job.ReasonGPUBusy, job.ReasonGPUShare, job.ReasonGPUMemory,
	job.ReasonGPUUsed, job.ReasonGPULoad, job.ReasonGPUForeign, job.ReasonGPUReserved, job.ReasonGPUSuspect,
	job.ReasonGPUPaused, job.ReasonGPUDrained, job.ReasonGPUSick, job.ReasonGPUUnknown, job.ReasonGPULost,
	job.ReasonGPUFree, job.ReasonGPUType, job.ReasonGPUExcluded,
}

// rank is a code's place in reasonOrder; a code that is not there comes first.
func rank(code job.ReasonCode) int { return slices.Index(reasonOrder, code) }

// reasonGroup is the GPUs that one cause keeps.
type reasonGroup struct {
	first job.Reason
	gpus  []int
	jobs  []string
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
		g.jobs = append(g.jobs, r.JobNames()...)
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
		text := fmt.Sprintf("has %s free, %s needed", job.FormatSize(r.Have), job.FormatSize(r.Need))
		if r.Detail != "" {
			text += " (" + r.Detail + ")"
		}
		return text + r.Besides()
	case job.ReasonGPUShare:
		return fmt.Sprintf("has %s free, %s needed", job.FormatGPUs(int(r.Have)), job.FormatGPUs(int(r.Need)))
	case job.ReasonGPUUsed:
		return fmt.Sprintf("has %d %% of its memory in use, at most %d %% allowed", r.Have, r.Need) + r.Besides()
	case job.ReasonGPUUnknown:
		return "is" + strings.TrimPrefix(r.Sentence(), "its state is")
	case job.ReasonGPULost, job.ReasonGPUSuspect, job.ReasonGPUSick:
		return "is " + strings.TrimPrefix(string(r.Code), "gpu-") + ": " + r.Sentence()
	}
	return "is " + r.Sentence()
}

func (g *reasonGroup) summary() string {
	switch g.first.Code {
	case job.ReasonGPUBusy:
		return "are held by " + nameList(g.jobs)
	case job.ReasonGPUMemory:
		return "have too little free memory, " + job.FormatSize(g.first.Need) + " needed"
	case job.ReasonGPUShare:
		return "have too little of their share free, " + job.FormatGPUs(int(g.first.Need)) + " needed"
	case job.ReasonGPUUsed:
		return fmt.Sprintf("have more than %d %% of their memory in use", g.first.Need)
	case job.ReasonGPULoad:
		return fmt.Sprintf("are busy to more than %d %%", g.first.Need)
	case job.ReasonGPUForeign:
		return "are used outside of any job"
	case job.ReasonGPUKept:
		return "are kept for " + nameList(g.jobs) + ", before this one"
	case job.ReasonGPUCleaning:
		return "are being checked"
	case job.ReasonGPUExcluded:
		return "are not among those the job may use"
	case job.ReasonGPUType:
		return "are of another model"
	}
	return "are " + strings.TrimPrefix(string(g.first.Code), "gpu-")
}

// nameList is "job 3" or "jobs 3,4"; it names up to three, and says that there
// are more.
func nameList(names []string) string {
	var parts []string
	seen := map[string]bool{}
	for _, name := range names {
		if !seen[name] {
			parts, seen[name] = append(parts, name), true
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
