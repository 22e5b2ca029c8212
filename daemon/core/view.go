package core

import (
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
)

// View shows the jobs that have not ended, as the query asks, and the GPUs.
func (c *Core) View(q job.Query, now time.Time) job.View {
	v := job.View{
		Driver: c.driver, CUDA: c.cuda, SampledAt: c.taken,
		Problem: string(c.problem), GPUs: c.gpuViews(now), Counts: map[job.State]int{},
	}
	if c.problem != "" {
		v.ProblemDetail = c.problem.Sentence()
	}
	snap := c.snapshot(now)
	waiting := 0
	for _, l := range c.ordered() {
		v.Counts[l.job.State]++
		if !wanted(&l.job, &q) {
			continue
		}
		if l.job.State == job.Queued {
			if waiting++; q.Waiting > 0 && waiting > q.Waiting {
				continue
			}
		}
		jv := job.JobView{Job: l.job}
		if q.Reasons && l.job.State == job.Queued {
			jv.Reasons = c.explain(&snap, l)
		}
		v.Jobs = append(v.Jobs, jv)
	}
	return v
}

func wanted(j *job.Job, q *job.Query) bool {
	switch {
	case q.IDs != nil:
		return slices.Contains(q.IDs, j.ID)
	case q.UID != nil && j.Owner.UID != *q.UID:
		return false
	case q.State != "" && j.State != q.State:
		return false
	}
	return q.Name == "" || j.Label.Name == q.Name
}

// ordered lists the jobs with a unit by id, then the queue in its order.
func (c *Core) ordered() []*live {
	list := make([]*live, 0, len(c.jobs))
	for _, id := range c.activeIDs() {
		list = append(list, c.jobs[id])
	}
	for _, w := range c.queue {
		list = append(list, c.jobs[w.ID])
	}
	return list
}

func (c *Core) explain(snap *sched.Snapshot, l *live) []job.Reason {
	if !c.listed {
		return []job.Reason{{Code: job.ReasonNoSample, GPU: job.NoGPU}}
	}
	why := sched.Explain(snap, &l.job.Request)
	if fits(why, &l.job.Request) {
		return []job.Reason{{Code: job.ReasonChecking, GPU: job.NoGPU}}
	}
	return why
}

// fits tells whether the reasons hold nothing against a start.
func fits(why []job.Reason, r *job.Request) bool {
	free := 0
	for _, reason := range why {
		if reason.GPU == job.NoGPU {
			return false
		}
		if reason.Code == job.ReasonGPUFree {
			free++
		}
	}
	return free >= r.GPUMilli/job.WholeGPU
}

func (c *Core) jobView(l *live, now time.Time, reasons bool) job.JobView {
	v := job.JobView{Job: l.job}
	if reasons && l.job.State == job.Queued {
		snap := c.snapshot(now)
		v.Reasons = c.explain(&snap, l)
	}
	return v
}

func (c *Core) gpuViews(now time.Time) []job.GPUView {
	views := make([]job.GPUView, 0, len(c.devices))
	for _, d := range c.devices {
		v := job.GPUView{
			Index: d.Index, UUID: d.UUID, Minor: d.Minor, Name: d.Name, PCI: d.PCI, Control: c.controls[d.UUID],
			MemTotalBytes: d.MemTotalBytes, MemUsedBytes: d.MemUsedBytes, MemFreeBytes: d.MemFreeBytes,
			UtilPercent: d.UtilGPUPercent, TempC: d.TempC, PowerMilliW: d.PowerMilliW,
		}
		state, detail := c.state(d, now)
		v.State, v.StateDetail = string(state), detail
		if l := c.holder(d); l != nil {
			v.Jobs = []job.ID{l.job.ID}
		}
		if state == sched.OK {
			v.State = "free"
			if len(v.Jobs) > 0 {
				v.State = "busy"
			}
		}
		for _, p := range d.Processes {
			v.Processes = append(v.Processes, job.GPUProcess{PID: p.PID, UID: p.UID, Comm: p.Comm, UsedBytes: p.UsedBytes, Job: d.jobs[p.PID]})
		}
		views = append(views, v)
	}
	return views
}

// Active returns the jobs that have a unit or may have one, by id.
func (c *Core) Active() []job.Job {
	jobs := make([]job.Job, 0, len(c.active))
	for _, id := range c.activeIDs() {
		jobs = append(jobs, c.active[id].job)
	}
	return jobs
}

// Counts returns how many jobs are in each state that is not an end.
func (c *Core) Counts() map[job.State]int {
	counts := map[job.State]int{job.Queued: len(c.queue)}
	for _, l := range c.active {
		counts[l.job.State]++
	}
	return counts
}
