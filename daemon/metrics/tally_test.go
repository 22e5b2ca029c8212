package metrics

import (
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// linesWith returns a page's samples with a prefix.
func linesWith(tally *Tally, prefix string) string {
	p := NewPage()
	tally.AddTo(p, &job.View{})
	var list []string
	for line := range strings.Lines(string(p.Text(Prometheus))) {
		if strings.HasPrefix(line, prefix) {
			list = append(list, strings.TrimSpace(strings.TrimPrefix(line, prefix)))
		}
	}
	return strings.Join(list, "; ")
}

// Each event in a job's life is counted once, however often the job's records come, and even if a
// record shows several changes.
func TestALifeIsCountedOnce(t *testing.T) {
	tally := NewTally()
	j := job.Job{ID: 7, SubmittedAt: noon, State: job.Queued, Life: job.Life{QueuedAt: noon.Add(time.Hour)}}
	at := func(d time.Duration) time.Time { return noon.Add(time.Hour + d) }
	tell := func(s job.State) {
		j.State = s
		tally.Job(&j)
		tally.Job(&j)
	}
	tell(job.Queued)
	j.Attempt = &job.Attempt{Number: 1, PlacedAt: at(0)}
	tell(job.Starting)
	j.Attempt.StartedAt = at(30 * time.Second)
	tell(job.Running)
	j.Attempt.EndedAt, j.Attempt.Result = at(60*time.Second), &job.Result{Outcome: job.Cancelled, Cause: job.StopPreempt}
	tell(job.Queued)
	// The second attempt is seen only after its end.
	j.Attempt = &job.Attempt{Number: 2, StartedAt: at(90 * time.Second), EndedAt: at(2 * time.Minute), Result: &job.Result{Outcome: job.Completed}}
	j.QueuedAt = at(60 * time.Second)
	j.State = job.Completed
	tally.Job(&j)
	for prefix, want := range map[string]string{
		"gpusched_job_wait_seconds_sum":                   "60",
		"gpusched_job_wait_seconds_count":                 "2",
		"gpusched_job_run_seconds_sum":                    "60",
		"gpusched_job_run_seconds_count":                  "2",
		`gpusched_jobs_requeued_total{cause="preempt"}`:   "1",
		`gpusched_jobs_ended_total{outcome="completed"}`:  "1",
		`gpusched_jobs_ended_total{outcome="cancelled"}`:  "0",
		`gpusched_jobs_requeued_total{cause="completed"}`: "",
		`gpusched_jobs_ended_total{outcome="preempt"}`:    "",
		`gpusched_job_wait_seconds_bucket{le="60.0"}`:     "2",
		`gpusched_job_wait_seconds_bucket{le="10.0"}`:     "0",
	} {
		if got := linesWith(tally, prefix); got != want {
			t.Errorf("%s is %q, not %q", prefix, got, want)
		}
	}
	if len(tally.attempts) != 0 {
		t.Errorf("%v is kept for a job that has ended", tally.attempts)
	}
}

// Events before the start are not counted again. Events after the start are counted.
func TestRestoredJobsCountFromNowOn(t *testing.T) {
	tally := NewTally()
	j := job.Job{ID: 7, State: job.Running, SubmittedAt: noon, Attempt: &job.Attempt{Number: 1, StartedAt: noon}}
	tally.Restore([]job.Job{j, {ID: 8, State: job.Queued}})
	tally.Job(&j)
	ended := *j.Attempt
	ended.EndedAt = noon.Add(time.Minute)
	j.Attempt, j.State = &ended, job.Failed
	tally.Job(&j)
	for prefix, want := range map[string]string{
		"gpusched_job_wait_seconds_count": "0", "gpusched_job_run_seconds_sum": "60", `gpusched_jobs_ended_total{outcome="failed"}`: "1",
	} {
		if got := linesWith(tally, prefix); got != want {
			t.Errorf("%s is %q, not %q", prefix, got, want)
		}
	}
}

// The tasks of an array count, but not the array itself.
func TestAnArrayIsItsTasks(t *testing.T) {
	tally := NewTally()
	tally.Job(&job.Job{ID: 1, State: job.Completed, Life: job.Life{Tasks: &job.Tasks{}}})
	tally.Job(&job.Job{ID: 2, State: job.Completed, Life: job.Life{Task: &job.Task{Array: 1}}})
	if got := linesWith(tally, `gpusched_jobs_ended_total{outcome="completed"}`); got != "1" {
		t.Errorf("%s have completed", got)
	}
}

// Unexpected errors do not take unlimited memory.
func TestGPUErrorsAreBounded(t *testing.T) {
	tally := NewTally()
	for n := range maxGPUErrors + 10 {
		tally.GPUError("0000:01:00", n)
	}
	tally.GPUError("0000:01:00", 3)
	if n := len(tally.gpuErrors); n != maxGPUErrors {
		t.Errorf("%d kinds are kept", n)
	}
	if n := tally.gpuErrors[gpuError{"0000:01:00", 3}]; n != 2 {
		t.Errorf("a known error was counted %d times", n)
	}
}
