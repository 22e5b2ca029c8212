package metrics

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/gpu"
)

// A Tally counts events as long as the process lives.
type Tally struct {
	mu        sync.Mutex // guards the following fields
	submitted uint64
	ended     map[job.State]uint64
	requeued  map[string]uint64
	attempts  map[job.ID]attempt // attempts of jobs that have not ended
	gpuErrors map[gpuError]uint64
	failures  struct{ commit, sample uint64 }

	wait, run, pass, lag, commit, sample *Distribution
}

// attempt is a job's current attempt, with what has been counted of it.
type attempt struct {
	number         int
	began, counted bool
}

type gpuError struct {
	pci string
	xid int
}

// maxGPUErrors limits the number of pairs of GPU and error. The driver knows fewer than two hundred
// errors.
const maxGPUErrors = 4096

// NewTally returns a tally that has counted nothing.
func NewTally() *Tally {
	return &Tally{
		ended: map[job.State]uint64{}, requeued: map[string]uint64{}, attempts: map[job.ID]attempt{},
		gpuErrors: map[gpuError]uint64{},
		wait:      newDistribution(longTimes), run: newDistribution(longTimes), pass: newDistribution(shortTimes),
		lag: newDistribution(shortTimes), commit: newDistribution(shortTimes), sample: newDistribution(shortTimes),
	}
}

// Restore adds the jobs that are on record when the scheduler starts. Their earlier events are not
// counted again.
func (t *Tally) Restore(jobs []job.Job) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range jobs {
		if a := jobs[i].Attempt; a != nil {
			t.attempts[jobs[i].ID] = attempt{a.Number, !a.StartedAt.IsZero(), !a.EndedAt.IsZero()}
		}
	}
}

// Submitted counts a job that was queued.
func (t *Tally) Submitted() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.submitted++
}

// Job counts the changes that a job's record shows. One record may show several changes,
// and the same record may come again until the job has ended.
func (t *Tally) Job(j *job.Job) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if a := j.Attempt; a != nil {
		done := t.attempts[j.ID]
		if done.number != a.Number {
			done = attempt{number: a.Number}
		}
		if !done.began && !a.StartedAt.IsZero() {
			done.began = true
			t.wait.observe(a.StartedAt.Sub(waitedSince(j)))
		}
		if !done.counted && !a.EndedAt.IsZero() {
			done.counted = true
			t.countEnd(j, a)
		}
		t.attempts[j.ID] = done
	}
	if j.State.Terminal() {
		delete(t.attempts, j.ID)
		if j.Tasks == nil { // the tasks of an array count, but not the array itself
			t.ended[j.State]++
		}
	}
}

func (t *Tally) countEnd(j *job.Job, a *job.Attempt) {
	if !a.StartedAt.IsZero() {
		t.run.observe(a.EndedAt.Sub(a.StartedAt))
	}
	if j.State == job.Queued && a.Result != nil {
		t.requeued[cmp.Or(string(a.Result.Cause), string(a.Result.Outcome))]++
	}
}

// waitedSince returns the time at which the job entered the queue.
func waitedSince(j *job.Job) time.Time {
	if j.QueuedAt.IsZero() {
		return j.SubmittedAt
	}
	return j.QueuedAt
}

// Pass counts a step in which the scheduler planned.
func (t *Tally) Pass(took time.Duration) { t.observe(t.pass, took) }

// Lag counts the time for which an event or query waited for the loop.
func (t *Tally) Lag(took time.Duration) { t.observe(t.lag, took) }

// Commit counts a transaction of the state file.
func (t *Tally) Commit(took time.Duration, failed bool) {
	t.observe(t.commit, took)
	t.countFailure(&t.failures.commit, failed)
}

// Sample counts a reading of the GPUs.
func (t *Tally) Sample(took time.Duration, failed bool) {
	t.observe(t.sample, took)
	t.countFailure(&t.failures.sample, failed)
}

func (t *Tally) observe(d *Distribution, took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	d.observe(took)
}

func (t *Tally) countFailure(n *uint64, failed bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if failed {
		*n++
	}
}

// GPUError counts an error that the driver reported for the GPU with this PCI address.
func (t *Tally) GPUError(pci string, xid int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := gpuError{pci, xid}
	if _, known := t.gpuErrors[e]; known || len(t.gpuErrors) < maxGPUErrors {
		t.gpuErrors[e]++
	}
}

// AddTo adds the counts to a page. The view v gives the names of the GPUs.
func (t *Tally) AddTo(p *Page, v *job.View) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p.Add("gpusched_jobs_submitted", float64(t.submitted))
	for _, s := range job.States() {
		if s.Terminal() {
			p.Add("gpusched_jobs_ended", float64(t.ended[s]), string(s))
		}
	}
	for _, cause := range slices.Sorted(maps.Keys(t.requeued)) {
		p.Add("gpusched_jobs_requeued", float64(t.requeued[cause]), cause)
	}
	p.Add("gpusched_commit_failures", float64(t.failures.commit))
	p.Add("gpusched_sample_failures", float64(t.failures.sample))
	for name, d := range map[string]*Distribution{
		"gpusched_job_wait": t.wait, "gpusched_job_run": t.run, "gpusched_planner_pass": t.pass,
		"gpusched_loop_lag": t.lag, "gpusched_commit": t.commit, "gpusched_sample": t.sample,
	} {
		p.AddSpread(name, &Distribution{bounds: d.bounds, counts: slices.Clone(d.counts), sum: d.sum})
	}
	t.addGPUErrors(p, v)
}

func (t *Tally) addGPUErrors(p *Page, v *job.View) {
	for i := range v.GPUs {
		g := &v.GPUs[i]
		counts := map[int]uint64{}
		for e, n := range t.gpuErrors {
			if (gpu.Device{PCI: g.PCI}).At(e.pci) {
				counts[e.xid] += n
			}
		}
		for _, xid := range slices.Sorted(maps.Keys(counts)) {
			p.Add("gpusched_gpu_errors", float64(counts[xid]), strconv.Itoa(g.Index), g.UUID, strconv.Itoa(xid))
		}
	}
}
