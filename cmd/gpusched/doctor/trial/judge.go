package trial

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/gpu"
)

// Given describes what the scheduler gave to the test job.
type Given struct {
	Index    int
	Minor    int
	UUID     string
	MemBytes int64
	Filtered bool // jobs have a device filter; jobs of a user's own scheduler don't
}

// These are the names of the checks, in order.
const (
	Start   = "start"
	Journal = "journal"
	Filter  = "filter"
	CUDA    = "cuda"
	Library = "nvml"
	Sum     = "sums"
	Memory  = "memory"
)

// Names returns the names of all checks of a GPU, in order.
func Names() []string { return []string{Start, Journal, Filter, CUDA, Library, Sum, Memory} }

// Pass returns a check that found nothing wrong.
func Pass(name, detail string) job.Check {
	return job.Check{Name: name, Health: job.Healthy, Detail: detail}
}

// Fail returns a check that found a problem.
func Fail(h job.Health, name, detail, next string) job.Check {
	return job.Check{Name: name, Health: h, Detail: detail, Next: next}
}

// Judge compares a probe's findings with what its job was given.
func Judge(g Given, f Finding) []job.Check {
	return []job.Check{judgeFilter(g, f), judgeCUDA(g, f), judgeNVML(g, f), judgeSums(f), judgeMemory(g, f)}
}

func judgeFilter(g Given, f Finding) job.Check {
	const next = "see 'gpusched doctor', and 'systemctl show gpujob-ID -p DeviceAllow -p DevicePolicy' of a running job"
	own := "/dev/nvidia" + strconv.Itoa(g.Minor)
	var open, shut []string
	for _, n := range f.Nodes {
		switch {
		case n.Path == own && n.Err != "":
			return Fail(job.Failing, Filter, fmt.Sprintf("the job can't open its own %s: %s", own, n.Err), next)
		case n.Path == own:
		case n.Err == "":
			open = append(open, n.Path)
		default:
			shut = append(shut, n.Path)
		}
	}
	if !slices.ContainsFunc(f.Nodes, func(n Node) bool { return n.Path == own }) {
		return Fail(job.Failing, Filter, own+" is not there", "systemctl start gpusched-devices")
	}
	switch {
	case !g.Filtered:
		return Fail(job.Degraded, Filter, "a scheduler of your own can't keep jobs from other GPUs", "only the machine's scheduler can")
	case len(open) > 0:
		return Fail(job.Failing, Filter, "the job can open GPUs that it does not have: "+strings.Join(open, ", "), next)
	case f.Proof != refusedText:
		return Fail(job.Failing, Filter, "no filter keeps the job from devices: the node that proves the filter is "+
			cmp.Or(f.Proof, "open"), next)
	}
	return Pass(Filter, fmt.Sprintf("its own %s opens, %d others are refused", own, len(shut)))
}

func judgeCUDA(g Given, f Finding) job.Check {
	own := "0" // CUDA counts only the GPUs that the job can open
	if !g.Filtered {
		own = strconv.Itoa(g.Index)
	}
	if f.Visible == own || f.Visible == g.UUID {
		return Pass(CUDA, "CUDA_VISIBLE_DEVICES is "+f.Visible)
	}
	return Fail(job.Failing, CUDA, fmt.Sprintf("CUDA_VISIBLE_DEVICES is %q instead of %s", f.Visible, own),
		"see what a drop-in for gpujob-.service, or the set-up of the site, sets")
}

func judgeNVML(g Given, f Finding) job.Check {
	const next = "see 'ldconfig -p | grep libnvidia-ml', and run nvidia-smi in a job: gpusched run -- nvidia-smi"
	switch {
	case f.NVML.Problem != "":
		return Fail(job.Failing, Library, "NVIDIA's library fails inside a job: "+f.NVML.Problem, next)
	case !slices.Contains(f.NVML.UUIDs, g.UUID):
		return Fail(job.Failing, Library, "NVIDIA's library does not see "+g.UUID+" inside its job", next)
	}
	return Pass(Library, fmt.Sprintf("it sees %s (%d in all)", g.UUID, len(f.NVML.UUIDs)))
}

func judgeSums(f Finding) job.Check {
	switch s := f.Sums; {
	case s.Proof == gpu.ProofWell:
		return Pass(Sum, "CUDA computes right sums on it")
	case s.Proof == gpu.ProofNoLibrary:
		return Fail(job.Limited, Sum, "CUDA was not tested: "+s.Text, "nothing, if no job uses CUDA; see 'ldconfig -p | grep libcuda'")
	case s.Proof.Sick():
		return Fail(job.Failing, Sum, "CUDA fails on it: "+s.Text, "see SICK GPUS in gpusched-admin(7)")
	default:
		return Fail(job.Degraded, Sum, "CUDA was not tested: "+s.Text, "see what else uses the GPU: gpusched gpus")
	}
}

func judgeMemory(g Given, f Finding) job.Check {
	switch f.Memory {
	case strconv.FormatInt(g.MemBytes, 10):
		return Pass(Memory, job.FormatSize(g.MemBytes)+", as the job asked for")
	case "":
		return Fail(job.Degraded, Memory, "not enforced: jobs have no memory controller",
			"see the line about cgroups in 'gpusched doctor'")
	case "max":
		return Fail(job.Degraded, Memory, "not enforced: the job asked for "+job.FormatSize(g.MemBytes)+" and has no limit",
			"see 'gpusched health'")
	}
	return Fail(job.Degraded, Memory, fmt.Sprintf("the limit is %s bytes, but the job asked for %d", f.Memory, g.MemBytes),
		"see which drop-in for gpujob-.service sets MemoryMax")
}
