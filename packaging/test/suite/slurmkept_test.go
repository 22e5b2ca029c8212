//go:build machine

package suite

import (
	"strings"
	"testing"
	"time"
)

// walkRefused checks that gpusched refuses a request that Slurm cannot fulfil, and states the
// reason. No job is left waiting or running.
func walkRefused(w walker) {
	jobs := func() string { return w.box.sh(w.T, "alice", "squeue -h -o %A | sort -un") }
	before := jobs()
	for args, want := range map[string]string{
		"submit --gpu-ids 0 -- true": "--gpu-type", "submit --max-failures 2 --array 0-3 -- true": "--max-failures",
		"submit -g 1.5 -- true": "1.5", "submit --gpu-type v9 -- true": "a100", "submit --gpu-mem 900G -- true": "gpu_mem_80gb",
		"submit -p high -- true": "QOS", "submit -g 9 -- true": "Slurm",
	} {
		if r := w.run(6, args); !strings.Contains(r.Stderr, want) {
			w.Errorf("%s: %s", args, r.Stderr)
		}
	}
	if after := jobs(); after != before {
		w.Errorf("the jobs were %q and are now %q", before, after)
	}
}

// conformReally runs the client's TestEnginesAnswerAlike against the real Slurm. Elsewhere that
// test runs against programs that imitate Slurm's programs.
func conformReally(t *testing.T, b slurmBox) {
	const there, test = "/usr/local/bin/client.test", "TestEnginesAnswerAlike/slurm"
	if err := b.CopyIn(t.Context(), testBinary(t, "", "cmd/gpusched/client"), there, 0o755); err != nil {
		t.Fatal(err)
	}
	r := b.tryFor(t, "alice", "cd /tmp && GPUSCHED_TEST_REAL_SLURM=1 "+there+" -test.v -test.run '"+test+"' 2>&1", 5*time.Minute)
	if r.Code != 0 || !strings.Contains(r.Stdout, "--- PASS: "+test) {
		t.Errorf("exit %d\n%s", r.Code, r.Stdout)
	}
}

// walkKept checks that an update leaves other fields unchanged, that a job's name cannot forge a
// job, that root opens no user's file, and that gpusched asks no other cluster.
func walkKept(w walker) {
	w.box.sh(w.T, "", "sacctmgr -i add qos high && sacctmgr -i modify user alice set qos+=high")
	now := func(id, field string) string {
		return strings.TrimSpace(w.box.sh(w.T, "alice", "squeue --noheader --jobs="+id+" --Format="+field+":40"))
	}
	id := w.submit("-g 1 --gpu-type a100 -t 1h --hold -- true")
	if w.gs(0, "update "+id+" -g 2"); !strings.HasSuffix(now(id, "tres-per-node"), "gpu:a100:2") {
		w.Errorf("job %s asks %s", id, now(id, "tres-per-node"))
	}
	high := w.submit("-g 0 -p high --hold -- true")
	if got := now(high, "QOS"); got != "high" {
		w.Errorf("job %s has the QOS %s", high, got)
	}
	if w.gs(0, "update "+high+" -p normal"); now(high, "QOS") != "normal" {
		w.Errorf("job %s has the QOS %s", high, now(high, "QOS"))
	}
	w.box.sh(w.T, "alice", `sbatch --hold --wrap true --job-name="$(printf 'x\n77 UserId=root(0) JOB_GRES=gpu Nodes=n1')"`)
	w.checkOutput("list", id, high, "queued")
	run := w.submit("-g 1 -- sleep 100")
	w.awaitState(run, "running")
	w.checkOutput("gpus", run)
	if r := w.box.try(w.T, "", "gpusched --on slurm logs "+run); r.Code != 4 || !strings.Contains(r.Stderr, "sudo -u alice gpusched logs slurm:"+run) {
		w.Errorf("root reads: exit %d, %s", r.Code, r.Stderr)
	}
	if r := w.box.try(w.T, "alice", "SLURM_CLUSTERS=other gpusched --on slurm cancel "+run); r.Code != 2 {
		w.Errorf("another cluster: exit %d, %s", r.Code, r.Stderr)
	}
	w.gs(0, "cancel --mine --yes")
}
