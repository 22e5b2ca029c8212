package daemon

import (
	"slices"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

// Only a job that asks for Slurm's variables gets them.
func TestSlurmVariables(t *testing.T) {
	j := &job.Job{
		ID: 42, Label: job.Label{Name: "train"}, Owner: job.Owner{User: "alice"},
		Request: job.Request{GPUMilli: 2000, CPUs: 8, MemBytes: 32 << 30},
	}
	j.Attempt = &job.Attempt{Number: 3, GPUs: []job.Allocation{{GPU: contract.GPU{Index: 1}}, {GPU: contract.GPU{Index: 3}}}}
	j.Task = &job.Task{Array: 7, Index: 5}
	got := slurmVariables(j, &job.Payload{Program: contract.Program{Dir: "/home/alice"}}, "gpubox")
	for _, want := range []string{
		"SLURM_JOB_ID=42", "SLURM_JOBID=42", "SLURM_JOB_NAME=train", "SLURM_ARRAY_JOB_ID=7", "SLURM_ARRAY_TASK_ID=5", "SLURM_CPUS_PER_TASK=8",
		"SLURM_GPUS=2", "SLURM_JOB_GPUS=1,3", "SLURM_SUBMIT_DIR=/home/alice", "SLURM_TASKS_PER_NODE=1", "SLURM_PROCID=0", "SLURM_LOCALID=0",
		"SLURM_NODEID=0", "SLURM_JOB_NODELIST=gpubox", "SLURM_MEM_PER_NODE=32768", "SLURM_RESTART_COUNT=2",
		"SLURMD_NODENAME=gpubox", "SLURM_SUBMIT_HOST=gpubox", "SLURM_JOB_ACCOUNT=alice", "SLURM_JOB_PARTITION=gpu",
		"SLURM_CPUS_ON_NODE=8", "SLURM_JOB_CPUS_PER_NODE=8",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("no %s in %q", want, got)
		}
	}
	small := slurmVariables(&job.Job{ID: 1, Attempt: &job.Attempt{Number: 1}}, &job.Payload{}, "h")
	if text := strings.Join(small, " "); strings.Contains(text, "CPUS_PER_TASK") || strings.Contains(text, "ARRAY") || strings.Contains(text, "NTASKS") || strings.Contains(text, "GPUS") ||
		strings.Contains(text, "MEM") || strings.Contains(text, "RESTART") {
		t.Errorf("what was not asked is said: %s", text)
	}
	p := job.Payload{Program: contract.Program{Env: []string{contract.TasksVariable + "=4"}}}
	tasks := strings.Join(slurmVariables(j, &p, "h"), " ")
	if !strings.Contains(tasks, "SLURM_NTASKS=4 ") || !strings.Contains(tasks, "SLURM_CPUS_PER_TASK=2 SLURM_CPUS_ON_NODE=8 ") ||
		!strings.Contains(strings.Join(small, " "), "SLURM_CPUS_ON_NODE=1 ") {
		t.Errorf("four tasks: %s", tasks)
	}
	if got := compatVariables(j, &job.Payload{}); got != nil {
		t.Errorf("unasked: %q", got)
	}
	if got := launchSpec(j, &job.Payload{Program: contract.Program{Setup: contract.Setup{Compat: contract.CompatSlurm}}}, true).Variables; len(got) < 20 {
		t.Errorf("asked: %q", got)
	}
}
