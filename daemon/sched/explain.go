package sched

import "github.com/gpusched/gpusched/daemon/job"

// Explain lists why a waiting job does not start now: first what concerns the
// whole machine, then one reason per GPU in index order. A job that asks no
// GPU gets no reasons per GPU.
func Explain(s *Snapshot, r *job.Request) []job.Reason {
	var why []job.Reason
	if s.Host.full() {
		why = append(why, job.Reason{Code: job.ReasonMaxRunning, GPU: job.NoGPU, Need: int64(s.Host.MaxRunning)})
	}
	if !s.Host.fits(r.MemBytes) {
		why = append(why, job.Reason{Code: job.ReasonHostMemory, GPU: job.NoGPU, Need: r.MemBytes, Have: max(0, s.Host.MemBytes-s.Host.PromisedMem)})
	}
	need := r.GPUMilli / job.WholeGPU
	if need == 0 {
		return why
	}
	if len(s.GPUs) == 0 {
		return append(why, job.Reason{Code: job.ReasonNoSample, GPU: job.NoGPU})
	}
	perGPU := make([]job.Reason, 0, len(s.GPUs))
	would := 0
	for i := range s.GPUs {
		reason := explainGPU(&s.GPUs[i], r)
		if reason.Code == job.ReasonGPUFree {
			would++
		}
		perGPU = append(perGPU, reason)
	}
	if need > 1 && would < need {
		why = append(why, job.Reason{Code: job.ReasonGPUCount, GPU: job.NoGPU, Need: int64(need), Have: int64(would)})
	}
	return append(why, perGPU...)
}

// explainGPU gives the one reason that would have to go away first.
func explainGPU(g *GPU, r *job.Request) job.Reason {
	reason := job.Reason{GPU: g.Index, Detail: g.Detail}
	switch {
	case !indexAllowed(g.Index, r):
		reason.Code, reason.Detail = job.ReasonGPUExcluded, ""
	case !g.isType(r.GPUType):
		reason.Code, reason.Detail = job.ReasonGPUType, g.Model
	case g.State == Lost:
		reason.Code = job.ReasonGPULost
	case len(g.Held) > 0:
		reason.Code, reason.Job, reason.Detail = job.ReasonGPUBusy, g.Held[0].Job, ""
	case g.State == Unknown:
		reason.Code = job.ReasonGPUUnknown
	case g.State == Paused:
		reason.Code = job.ReasonGPUPaused
	case g.State == Cleaning:
		reason.Code, reason.Job = job.ReasonGPUCleaning, g.After
	case g.State == Suspect:
		reason.Code, reason.Job = job.ReasonGPUSuspect, g.After
	case g.free() < r.GPUMemBytes:
		reason.Code, reason.Need, reason.Have, reason.Detail = job.ReasonGPUMemory, r.GPUMemBytes, max(0, g.free()), ""
	default:
		reason.Code, reason.Detail = job.ReasonGPUFree, ""
	}
	return reason
}
