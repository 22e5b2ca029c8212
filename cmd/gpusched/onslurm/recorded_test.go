package onslurm

import (
	"errors"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/daemon/api"
)

// TestRecordedRefusals: what Slurm's programs say when they refuse is told with its kind,
// in one line.
func TestRecordedRefusals(t *testing.T) {
	for name, want := range map[string]api.Code{
		"down-sbatch": api.CodeUnreachable, "down-squeue": api.CodeUnreachable,
		"hold-bad": api.CodeNotFound, "job-bad": api.CodeNotFound, "squeue-bad": api.CodeNotFound, "update-bad": api.CodeNotFound,
		"node-denied": api.CodeForbidden, "update-denied": api.CodeForbidden,
		"release-ended": api.CodeConflict, "requeue-held": api.CodeConflict,
		"sbatch-many": api.CodeNever, "sbatch-type": api.CodeNever, "sbatch-memory": api.CodeNever,
		"sbatch-feature": api.CodeNever, "sbatch-partition": api.CodeUsage,
	} {
		said := recorded(t, "22.05", "refused/"+name+".txt")
		program := "scontrol"
		if strings.Contains(name, "sbatch") {
			program = "sbatch"
		}
		err := (&Engine{}).refusal(program, said, errors.New("exit status 1"))
		var told *api.Error
		if !errors.As(err, &told) || told.Code != want || strings.Contains(told.Message, "\n") || strings.Contains(told.Message, "error: ") {
			t.Errorf("%s: %+v, not %s", name, told, want)
		}
	}
}

// TestRecordedPast: what Slurm's accounting has of jobs in every state.
func TestRecordedPast(t *testing.T) {
	got := map[string]string{}
	list, err := pastJobs([]byte(recorded(t, "22.05", "sacct.txt")), separator)
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range list {
		got[j.Name+colonTask(j)] = sketch(j)
	}
	for name, want := range map[string]string{
		"done":      "alice completed gpus 0.5  mem 100M cpus 1 → 0 completed: exit code 0",
		"bad":       "alice failed gpus 0  mem 100M cpus 1 → 3 failed: exit code 3",
		"killed":    "alice failed gpus 0  mem 100M cpus 1 → 139 killed by signal 11 (SEGV)",
		"cancelled": "alice cancelled gpus 0  mem 100M cpus 1 → 143 cancelled by alice",
		"whole":     "alice running gpus 2  mem 1G cpus 2",
		"part":      "alice running gpus 0.3  mem 100M cpus 1",
		"array:2":   "alice running gpus 0  mem 100M cpus 1",
	} {
		if name == "part" {
			want = "alice running gpus 0  mem 100M cpus 1" // the accounting has the comment when the job has ended
		}
		if got[name] != want {
			t.Errorf("%s: %s, not %s", name, got[name], want)
		}
	}
}

// TestLaterRelease: 24.11 writes exit codes and GPUs in another way.
func TestLaterRelease(t *testing.T) {
	jobs := recordedJobs(t, "24.11")
	for name, want := range map[string]string{
		"done":   "alice completed gpus 0.5  mem 100M cpus 1 → 0 completed: exit code 0",
		"bad":    "alice failed gpus 0  mem 100M cpus 1 → 3 failed: exit code 3",
		"killed": "alice failed gpus 0  mem 100M cpus 1 → 139 killed by signal 11 (SEGV)",
		"whole":  "alice running gpus 2 a100 mem 1G cpus 2",
		"part":   "alice running gpus 0.3  mem 100M cpus 1",
	} {
		if got := sketch(jobs[name]); got != want {
			t.Errorf("%s: %s, not %s", name, got, want)
		}
	}
	if nodes := readNodes(recorded(t, "24.11", "nodes.txt")); len(nodes) != 3 || len(nodes[0].gpus) != 2 || !nodes[0].gpus[1].taken {
		t.Errorf("%+v", nodes)
	}
}
