//go:build machine

package suite

import (
	"strings"
	"testing"
)

// killsIt replaces sbatch. On every other call it kills its caller instead of submitting the job.
// On two thirds of the remaining calls it submits the job and then kills its caller.
const killsIt = `#!/bin/sh
n=$(($(cat /tmp/calls) + 1)); echo $n >/tmp/calls
[ $((n % 2)) = 1 ] && { kill -9 $PPID; exit 1; }
out=$(/usr/bin/sbatch "$@") || exit
[ $((n % 3)) != 0 ] && { kill -9 $PPID; exit 1; }
echo "$out"
`

// TestMigrate: waiting jobs are migrated to a real Slurm. There each job runs once, as requested
// and in the original order, although gpusched is killed before and after its submissions to Slurm.
func TestMigrate(t *testing.T) {
	b := beginSlurm(t)
	t.Cleanup(func() { b.sh(t, "", "rm -rf /opt/kills /tmp/calls /home/alice/ran.*") })
	b.sh(t, "", "gpusched daemon drain; install -d -m 755 /opt/kills; echo 0 >/tmp/calls; chmod 666 /tmp/calls")
	if err := b.WriteFile(t.Context(), "/opt/kills/sbatch", killsIt, 0o755); err != nil {
		t.Fatal(err)
	}
	submit := func(args string) string { return b.sh(t, "alice", "cd && "+args) }
	migrateRefused(t, b, submit)
	first := submit(`K=arrives gpusched submit -q -g 1 -m 100M -n m --comment mine -- sh -c 'echo $K >>ran.first'`)
	array := submit("gpusched submit -q -g 0 -m 100M -n m --array 0-3 --after-ok " + first + " -- sh -c 'echo x >>ran.array'")
	last := submit("gpusched submit -q -g 0 -m 100M -n m --after-any " + array + " -- sh -c 'echo x >>ran.last'")
	held := submit("gpusched submit -q -g 0 -m 100M -n held --hold -- sh -c 'echo x >>ran.held'")
	if r := b.try(t, "alice", "gpusched migrate --to slurm "+last); r.Code == 0 || !strings.Contains(r.Stderr, "waits for job "+array+", which stays") {
		t.Errorf("a job is migrated without the job that it waits for: %+v", r)
	}
	if r := b.try(t, "alice", "gpusched migrate --to slurm "+first); r.Code == 0 || !strings.Contains(r.Stderr, "job "+array+", which waits for it, stays") {
		t.Errorf("a job is migrated without the job that waits for it: %+v", r)
	}
	here := b.sh(t, "alice", "gpusched list --mine -o ids | wc -l; gpusched list --mine --json | grep -c '\"held_by\"'; squeue -h")
	if here != "4\n1" {
		t.Errorf("the refused jobs have changed: %q", here)
	}
	r := b.try(t, "alice", "gpusched migrate --to slurm --mine --dry-run")
	for _, id := range []string{first, array, last, held} {
		if !strings.Contains(r.Stdout, "job "+id+" would be moved\n") {
			t.Errorf("a dry run does not say that job %s would be moved: %+v", id, r)
		}
	}
	if text := b.sh(t, "alice", "squeue -h; gpusched list --mine -o json"); r.Code != 0 || strings.Count(text, `"held_by"`) != 1 {
		t.Errorf("a dry run, which exits with %d, leaves\n%s", r.Code, text)
	}
	runs, code := 0, 1
	for ; code != 0 && runs < 30; runs++ {
		code = b.try(t, "alice", "cd && PATH=/opt/kills:$PATH gpusched migrate --to slurm --mine").Code
	}
	if code != 0 || runs < 4 {
		t.Errorf("%d runs, exit %d", runs, code)
	}
	if left := b.sh(t, "alice", "gpusched list --mine -o ids"); left != "" {
		t.Errorf("not migrated: %s", left)
	}
	if text := b.sh(t, "alice", "gpusched show "+first); !strings.Contains(text, "moved to slurm:") {
		t.Errorf("show does not say what became of it:\n%s", text)
	}
	poll(t, "all have run there", func() bool { return b.sh(t, "alice", "squeue -h -n m") == "" })
	for file, want := range map[string]string{"first": "arrives", "array": "x\nx\nx\nx", "last": "x"} {
		if got := b.sh(t, "alice", "cat ran."+file); got != want {
			t.Errorf("%s has run as %q, want %q", file, got, want)
		}
	}
	if out := b.sh(t, "alice", "squeue -h -t all -o %T:%r -n held; ls"); !strings.Contains(out, "PENDING:JobHeldUser") || strings.Contains(out, "ran.held") {
		t.Errorf("the held job %s: %s", held, out)
	}
}

// migrateRefused checks that a job that Slurm refuses, and the jobs that depend on it, still wait
// in gpusched, even after a second attempt.
func migrateRefused(t *testing.T, b slurmBox, submit func(string) string) {
	t.Helper()
	refused := submit("gpusched submit -q -g 4 -m 100M -n refused -- true") // no node has four GPUs
	waits := submit("gpusched submit -q -g 0 -m 100M -n refused --after-any " + refused + " -- true")
	for _, how := range []string{"--dry-run", "", ""} {
		r := b.try(t, "alice", "gpusched migrate --to slurm --mine "+how)
		if r.Code == 0 || !strings.Contains(r.Stderr, "job "+refused+" stays here: ") || how == "" && !strings.Contains(r.Stderr, "job "+waits+" stays here: ") {
			t.Errorf("migrate %s of a job that Slurm refuses: %+v", how, r)
		}
		for _, id := range []string{refused, waits} {
			text := b.sh(t, "alice", "gpusched show --json "+id)
			if !strings.Contains(text, `"state": "queued"`) || strings.Contains(text, `"held_by"`) || strings.Contains(text, "moved") {
				t.Errorf("after migrate %s job %s is\n%s", how, id, text)
			}
		}
		if there := b.sh(t, "alice", "squeue -h"); there != "" {
			t.Errorf("migrate %s of a job that Slurm refuses leaves jobs in Slurm:\n%s", how, there)
		}
	}
	b.sh(t, "alice", "gpusched cancel "+refused+" "+waits)
}
