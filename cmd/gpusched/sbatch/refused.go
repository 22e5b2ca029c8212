package sbatch

import (
	"github.com/gpusched/gpusched/daemon/job"
)

// refuseForeign refuses what only a scheduler of one machine can promise.
func (m *mapping) refuseForeign() {
	r := &m.r
	for _, wish := range []struct {
		asked bool
		why   string
	}{
		{len(r.GPUIDs)+len(r.GPUsFrom)+len(r.ExcludeGPUs) > 0,
			"Slurm chooses the GPUs itself: give their type (--gpu-type) instead of numbers (--gpu-ids, --gpus-from, --exclude-gpus)"},
		{r.MaxLoadPercent+r.MaxUsedPercent > 0,
			"Slurm does not look at what others run on a GPU: leave out --max-load and --max-used"},
		{r.GPUMemBytes == job.AutoGPUMem,
			"--gpu-mem auto knows the runs of this machine's own queue: say a size, such as --gpu-mem 20G"},
		{r.Dedup != "", "--dedup works only on this machine's own queue: leave it out, or use --on local"},
		{r.Objective != "" || r.Batch != "", "--objective and --batch work only on this machine's own queue: leave them out, or use --on local"},
		{r.MaxFailures > 0, "Slurm does not stop an array after some failures: leave out --max-failures, and cancel the array when that is enough"},
		{r.OnTimeout == job.TimeoutRequeue,
			"a job that meets its time limit ends there: instead of --on-timeout requeue, let the command save its work at --signal and end with an error, with --retries"},
		{r.Screen, "a session of GNU screen would be on another machine: use 'gpusched run --tty'"},
		{r.Backoff > 0 && r.Retries <= 0, "--backoff needs --retries: give both, or neither"},
	} {
		if wish.asked {
			m.refuse("%s", wish.why)
		}
	}
	if m.grace > 0 && job.Span(m.site.KillWait) != m.grace {
		if m.site.KillWait == 0 {
			m.note("--grace is the same for all jobs there (KillWait in slurm.conf)")
		} else {
			m.note("--grace is %s for all jobs there (KillWait in slurm.conf)", job.Span(m.site.KillWait))
		}
	}
	if r.Spread && r.Part() > 0 {
		m.note("--spread has no effect on Slurm: where parts of GPUs go is the site's choice")
	}
}
