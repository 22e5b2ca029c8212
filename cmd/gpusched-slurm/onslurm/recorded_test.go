package onslurm

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched-slurm/slurmexec"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// Each refusal of Slurm's programs becomes an error with a fitting code, in one line.
func TestRecordedRefusals(t *testing.T) {
	kinds := map[string]api.Code{
		"down-sbatch": api.CodeUnreachable, "down-squeue": api.CodeUnreachable,
		"hold-bad": api.CodeNotFound, "job-bad": api.CodeNotFound, "squeue-bad": api.CodeNotFound, "update-bad": api.CodeNotFound,
		"node-denied": api.CodeForbidden, "update-denied": api.CodeForbidden,
		"release-ended": api.CodeConflict, "requeue-held": api.CodeConflict,
		"sbatch-many": api.CodeNever, "sbatch-type": api.CodeNever, "sbatch-memory": api.CodeNever,
		"sbatch-feature": api.CodeNever, "sbatch-partition": api.CodeUsage,
	}
	for _, release := range []string{"22.05", "23.11", "24.11"} {
		for name, want := range kinds {
			said := recordedOutput(t, release, "refused/"+name+".txt")
			program := "scontrol"
			if strings.Contains(name, "sbatch") {
				program = "sbatch"
			}
			err := slurmexec.Refusal(program, said, errors.New("exit status 1"))
			var apiErr *api.Error
			if !errors.As(err, &apiErr) || apiErr.Code != want || strings.Contains(apiErr.Message, "\n") || strings.Contains(apiErr.Message, "error: ") {
				t.Errorf("%s %s: %+v, not %s", release, name, apiErr, want)
			}
		}
	}
}

// Jobs in every state can be read from the accounting.
func TestRecordedPast(t *testing.T) {
	got := map[string]string{}
	list, err := pastJobs([]byte(recordedOutput(t, "22.05", "sacct.txt")), separator)
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
			want = "alice running gpus 0  mem 100M cpus 1" // the accounting has no comment before the job has ended
		}
		if got[name] != want {
			t.Errorf("%s: %s, not %s", name, got[name], want)
		}
	}
}

// The output of 23.11 and 24.11 can be read too. These releases write exit codes, GPUs, and the
// used part of each GPU differently.
func TestLaterReleases(t *testing.T) {
	for _, release := range []string{"23.11", "24.11"} {
		t.Run(release, func(t *testing.T) {
			laterQueue(t, release)
			laterPast(t, release)
			laterSite(t, release)
		})
	}
}

func laterQueue(t *testing.T, release string) {
	jobs := recordedJobs(t, release)
	for name, want := range map[string]string{
		"done":       "alice completed gpus 0.5  mem 100M cpus 1 → 0 completed: exit code 0",
		"bad":        "alice failed gpus 0  mem 100M cpus 1 → 3 failed: exit code 3",
		"killed":     "alice failed gpus 0  mem 100M cpus 1 → 139 killed by signal 11 (SEGV)",
		"cancelled":  "alice cancelled gpus 0  mem 100M cpus 1 → 143 cancelled",
		"unborn":     "alice cancelled gpus 0  mem 100M cpus 1 → 143 cancelled",
		"whole":      "alice running gpus 2 a100 mem 1G cpus 2",
		"part":       "alice running gpus 0.3  mem 100M cpus 1",
		"array:1":    "alice running gpus 0  mem 100M cpus 1",
		"asleep":     "alice running gpus 0  mem 100M cpus 1",
		"resources":  "alice queued gpus 2 h100 mem 100M cpus 1 ∵ it is next: what it asks for is not free yet (Slurm: Resources)",
		"behind":     "alice queued gpus 2 a100 mem 100M cpus 1 ∵ jobs of a higher priority are before it (Slurm: Priority)",
		"held":       "alice queued gpus 0  mem 100M cpus 1 ∵ held by its user ('gpusched release' lets it go) (Slurm: JobHeldUser)",
		"held-admin": "alice queued gpus 0  mem 100M cpus 1 ∵ held by a Slurm administrator (Slurm: JobHeldAdmin)",
		"never":      "alice queued gpus 0  mem 100M cpus 1 ∵ what it waits for can't happen any more: it will never start (cancel it) (Slurm: DependencyNeverSatisfied)",
		"node-down":  "alice queued gpus 0  mem 100M cpus 1 ∵ a node that it needs is down, drained or kept for other jobs (Slurm: Nodes)",
	} {
		if got := sketch(jobs[name]); got != want {
			t.Errorf("%s: %s\nwant %s", name, got, want)
		}
	}
	if j := jobs["after"]; !strings.Contains(j.Why, " completes and ") {
		t.Errorf("after: %s", j.Why)
	}
	if j := jobs["asleep"]; j.SuspendedAt.IsZero() {
		t.Errorf("asleep: %+v", j)
	}
	if a := jobs["array"].Array; a == nil || a.Limit != 2 {
		t.Errorf("array: %+v", a)
	}
	number, found := numberGPUs(readNodes(recordedOutput(t, release, "nodes.txt"))), recordsByID(recordedOutput(t, release, "jobs.txt"))
	for name, want := range map[string]string{"whole": "[n1/gpu0 n1/gpu1]", "part": "[n2/gpu0]", "resources": "[]", "asleep": "[]"} {
		j := jobs[name]
		record, ok := recordOf(found[j.ID.String()], &j)
		list := []string{}
		for _, a := range allocations(record, number) {
			list = append(list, a.UUID)
		}
		if got := fmt.Sprint(list); !ok || got != want {
			t.Errorf("job %s has %s, not %s (%v)", name, got, want, ok)
		}
	}
}

func laterPast(t *testing.T, release string) {
	list, err := pastJobs([]byte(recordedOutput(t, release, "sacct.txt")), separator)
	got := map[string]string{}
	for _, j := range list {
		got[j.Name] = sketch(j)
	}
	if err != nil || got["done"] != "alice completed gpus 0.5  mem 100M cpus 1 → 0 completed: exit code 0" ||
		got["cancelled"] != "alice cancelled gpus 0  mem 100M cpus 1 → 143 cancelled by alice" {
		t.Errorf("%v %v", got, err)
	}
}

func laterSite(t *testing.T, release string) {
	nodes := readNodes(recordedOutput(t, release, "nodes.txt"))
	var used []string
	for i := range nodes {
		for k, g := range nodes[i].gpus {
			if g.used {
				used = append(used, gpuOnNode{nodes[i].name, k}.String())
			}
		}
	}
	if got := fmt.Sprint(used); len(nodes) != 3 || got != "[n1/gpu0 n1/gpu1 n2/gpu0]" {
		t.Errorf("taken are %s", got)
	}
	for i, want := range []bool{false, false, true} {
		if out, drained := nodes[i].availability(); out != want || drained {
			t.Errorf("node %s (%s): %v", nodes[i].name, nodes[i].state, out)
		}
	}
	site := siteOf(slurmexec.Settings(recordedOutput(t, release, "config.txt")), nodes)
	if site.Version.String() != release || site.Shards != 4 || len(site.GPUTypes) != 2 || site.KillWait != 5*time.Second {
		t.Errorf("%+v", site)
	}
	if got := job.Worst(controllerChecks(recordedOutput(t, release, "ping.txt"))); got != job.Healthy {
		t.Error(got)
	}
	if got := job.Worst(controllerChecks(recordedOutput(t, release, "ping-down.txt"))); got != job.Failing {
		t.Error(got)
	}
	j := api.Job{State: job.Queued}
	if setForecast(&j, recordedOutput(t, release, "testonly.txt")); j.ExpectedStart.IsZero() && j.StartedAt.IsZero() {
		t.Errorf("%+v", j)
	}
}
