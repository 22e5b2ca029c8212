package words

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gpusched/gpusched/daemon/job"
)

// maxGroups limits the reasons about GPUs in one line.
const maxGroups = 2

// Why returns one short line that says why a job waits.
func Why(list []job.Reason) string { return Reader{}.Why(list) }

// listCauses lists why a job waits: first the reasons that apply to every GPU, then reasons of
// single GPUs, beginning with the reason that passes soonest. GPUs that the job can't use are named
// only if nothing else can be said.
func listCauses(list []job.Reason) []string {
	if first, ok := ownReason(list); ok {
		return []string{Reason(first)}
	}
	var parts, others, last []string
	for _, r := range list {
		switch {
		case r.GPU == job.NoGPU && isLesser(r, list):
			last = append(last, Reason(r))
		case r.GPU == job.NoGPU:
			parts = append(parts, Reason(r))
		}
	}
	groups := groupReasons(list)
	slices.SortStableFunc(groups, func(a, b *reasonGroup) int { return cmp.Compare(a.rank, b.rank) })
	for _, g := range groups {
		switch {
		case g.rank >= 0 && reasons[g.rank].about == aside:
			others = append(others, g.String())
		case len(parts) < maxGroups:
			parts = append(parts, g.String())
		}
	}
	if len(parts) == 0 {
		parts = others
	}
	return append(parts, last[:min(len(last), 1)]...)
}

// InOrder sorts reasons by importance, the most important first. As long as too few GPUs are
// usable, reasons that do not concern GPUs (host memory, CPUs, the number of running jobs, quotas)
// come last.
func InOrder(list []job.Reason) []job.Reason {
	out := slices.Clone(list)
	slices.SortStableFunc(out, func(a, b job.Reason) int {
		switch x, y := isLesser(a, list), isLesser(b, list); {
		case x == y:
			return 0
		case x:
			return 1
		}
		return -1
	})
	return out
}

// isLesser reports whether a reason is less important than the lack of usable GPUs.
func isLesser(r job.Reason, all []job.Reason) bool {
	switch r.Code {
	case job.ReasonHostMemory, job.ReasonHostCPUs, job.ReasonMaxRunning:
		return lacksGPUs(all)
	}
	at := rank(r.Code)
	return at >= 0 && reasons[at].about == quota && lacksGPUs(all)
}

// lacksGPUs reports whether too few GPUs are usable now for the job.
func lacksGPUs(all []job.Reason) bool {
	free, others := 0, 0
	for _, r := range all {
		switch {
		case r.Code == job.ReasonGPUCount:
			return true
		case r.Code == job.ReasonGPUFree:
			free++
		case r.GPU != job.NoGPU:
			others++
		}
	}
	return free == 0 && others > 0
}

// ownReason returns the first reason that is about the job or its owner. It may be a quota only if
// enough GPUs are usable.
func ownReason(list []job.Reason) (job.Reason, bool) {
	last := quota
	if lacksGPUs(list) {
		last = own
	}
	for i := range reasons {
		if reasons[i].about > last {
			break
		}
		if at := slices.IndexFunc(list, func(r job.Reason) bool { return r.Code == reasons[i].code }); at >= 0 {
			return list[at], true
		}
	}
	return job.Reason{}, false
}

// reasonGroup is a reason together with all GPUs that have it.
type reasonGroup struct {
	rank  int
	first job.Reason
	gpus  []int
	jobs  []string
}

// groupReasons groups the reasons about GPUs by code, in the order in which the codes appear.
func groupReasons(list []job.Reason) []*reasonGroup {
	var groups []*reasonGroup
	byCode := map[job.ReasonCode]*reasonGroup{}
	for _, r := range list {
		if r.GPU == job.NoGPU {
			continue
		}
		g := byCode[r.Code]
		if g == nil {
			g = &reasonGroup{rank: rank(r.Code), first: r}
			byCode[r.Code], groups = g, append(groups, g)
		}
		g.gpus = append(g.gpus, r.GPU)
		g.jobs = append(g.jobs, jobNames(r)...)
	}
	return groups
}

// String returns the reason's sentence for one GPU, or a summary for several GPUs.
func (g *reasonGroup) String() string {
	on, all := "", ""
	if g.rank >= 0 {
		on, all = reasons[g.rank].on, reasons[g.rank].all
	}
	if len(g.gpus) == 1 {
		return fmt.Sprintf("GPU %d %s", g.gpus[0], expand(cmp.Or(on, "is {alone}"), g.first))
	}
	all = strings.ReplaceAll(cmp.Or(all, "are "+strings.TrimPrefix(string(g.first.Code), "gpu-")), "{jobs}", nameList(g.jobs))
	return fmt.Sprintf("GPUs %s %s", job.FormatGPUList(g.gpus), expand(all, g.first))
}

// nameList returns text such as "job 3" or "jobs 3,4". If there are more than three names, it
// returns the first three and "…".
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
