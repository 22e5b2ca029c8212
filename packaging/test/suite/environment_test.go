//go:build machine

package suite

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/daemon/job"
)

// makeEnvironments creates a Python virtual environment for alice, as 'python3 -m venv' would, and
// a conda installation with one environment.
const makeEnvironments = `cd; rm -rf envs; mkdir -p "envs/my venv/bin" envs/conda/conda-meta envs/conda/condabin envs/conda/bin
ln -s /usr/bin/python3 "envs/my venv/bin/python"; printf 'home = /usr/bin\nversion = 3\n' >"envs/my venv/pyvenv.cfg"
e=envs/conda/envs/torch; mkdir -p $e/conda-meta $e/bin $e/etc/conda/activate.d
printf '#!/bin/sh\necho "$0 in $CONDA_DEFAULT_ENV, $FROM_PACKAGE, $FROM_STATE"\n' >$e/bin/train
printf '#!/bin/sh\n' >envs/conda/bin/conda; chmod 755 $e/bin/train envs/conda/bin/conda
echo 'export FROM_PACKAGE=cc' >$e/etc/conda/activate.d/cc.sh
echo '{"version": 1, "env_vars": {"FROM_STATE": "yes"}}' >$e/conda-meta/state
mkdir -p .conda; echo ~/envs/conda/envs/torch >.conda/environments.txt; chmod 700 envs`

// TestEnvironments: jobs run in the virtual or conda environment that they request, in every
// attempt and task, and the environment is still active after the job's set-up command. A missing
// environment, or another user's environment, is refused.
func TestEnvironments(t *testing.T) {
	begin(t)
	sh(t, "alice", makeEnvironments)
	for words, want := range map[string]string{
		`-C envs --venv 'my venv' -- python -c 'import sys; print(sys.prefix, sys.prefix != sys.base_prefix)'`: "/envs/my venv True",
		`--conda torch -- train`: "/envs/conda/envs/torch/bin/train in torch, cc, yes",
		`--env clean --conda ~/envs/conda/envs/torch --setup 'cd envs; export A="$FROM_PACKAGE b"' -- sh -c 'echo "$A $PWD"'`: "cc b /home/alice/envs",
		`--env login --setup 'umask 027' -- sh -c umask`:                                                                      "0027",
		`--retries 1 --setup 'echo $GPUSCHED_ATTEMPT set up' -- sh -c 'exit $((2 - GPUSCHED_ATTEMPT))'`:                       "1 set up\n2 set up",
	} {
		id := submit(t, "alice", "-g 0 "+words)
		wait(t, id)
		if got := output(t, "alice", id); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", words, got, want)
		}
	}
	for _, ends := range []string{"exit 0", "exit 3", "exec true"} {
		sh(t, "alice", "echo '"+ends+"' >~/.bash_profile")
		mustEnd(t, wait(t, submit(t, "alice", "-g 0 --env login -- echo not this")), job.Failed, "exited before the command")
	}
	sh(t, "alice", "echo unset NOTIFY_SOCKET >~/.bash_profile")
	mustEnd(t, wait(t, submit(t, "alice", "-g 0 --env login -- true")), job.Completed, "")
	sh(t, "alice", "rm ~/.bash_profile; mkdir -m 0 ~/closed")
	sh(t, "", "echo 'SITE_PROXY=\"a b\" # all' >>/etc/environment")
	t.Cleanup(func() { try(t, "", "sed -i /SITE_PROXY/d /etc/environment; rmdir ~alice/closed") })
	id := submit(t, "alice", `-g 0 --env login -e TMPDIR=$HOME/closed -- sh -c 'echo "$SITE_PROXY,$TMPDIR,"'`)
	wait(t, id)
	if got := output(t, "alice", id); !strings.Contains(got, "closed is left out: the directory can't be written to\na b,,") {
		t.Errorf("variables: %q", got)
	}
	mustFail(t, "alice", "gpusched submit -g 0 --chdir ~/closed -- true", 2, "you can't enter the directory")
	id = submit(t, "alice", `-g 0 --setup 'echo before; exit 4' -- echo not this`)
	wait(t, id)
	if got := output(t, "alice", id); !strings.HasPrefix(got, "before\n") || strings.Contains(got, "not this") || !strings.Contains(got, "its set-up failed: exit status 4") {
		t.Errorf("a set-up that fails: %q", got)
	}
	if told := sh(t, "alice", fmt.Sprintf("gpusched show %d", id)); !strings.Contains(told, "could not start: its set-up failed") ||
		!strings.Contains(told, "set-up      echo before; exit 4") {
		t.Errorf("show: %s", told)
	}
	if told := try(t, "bob", fmt.Sprintf("gpusched show %d; gpusched show --json %d", id, id)).Stdout; strings.Contains(told, "echo before") {
		t.Errorf("bob sees the set-up: %s", told)
	}
	mustFail(t, "bob", `gpusched submit --venv ~alice/envs/'my venv' -- python`, 2, "permission denied")
	mustFail(t, "bob", `gpusched submit --conda ~alice/envs/conda/envs/torch -- python`, 2, "permission denied")
	mustFail(t, "bob", `gpusched submit --conda torch -- python`, 2, "no conda installation was found")
	mustFail(t, "alice", `gpusched submit --conda $'a\n$(touch x)' -- python`, 2, "there is base, torch")
	mustFail(t, "alice", `gpusched submit --venv /etc/passwd -- python`, 2, "is not a directory")
	mustFail(t, "alice", `gpusched submit --modules cuda -- python`, 2, "neither Environment Modules nor Lmod")
	mustFail(t, "alice", `gpusched submit --setup "$(head -c 124000 /dev/zero | tr '\0' x)" -- true`, 2, "at most 122880 bytes")
}

// listenAtPort is a program that listens at the job's port, as torchrun does first.
const listenAtPort = `import os, socket, sys, time
s = socket.create_server((os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])))
print(sys.argv[1:], os.environ["MASTER_PORT"] == os.environ["PET_MASTER_PORT"], os.environ["SLURM_JOB_ID"], os.environ["SLURM_JOB_GPUS"], flush=True)
name = os.environ["GPUSCHED_JOB_ID"]
open("/tmp/meet." + name, "w").close()
while not os.path.exists("/tmp/meet.go"): time.sleep(0.05)
`

// TestMasterPorts: two jobs run at the same time. Each job can listen at its own MASTER_PORT. Its
// command gets the number of its GPU as an argument and in a variable of Slurm.
func TestMasterPorts(t *testing.T) {
	begin(t)
	sh(t, "alice", "rm -f /tmp/meet.*; cat >/tmp/meet.py <<'END'\n"+listenAtPort+"END")
	var ids []int64
	for range 2 {
		ids = append(ids, submit(t, "alice", "-g 1 --compat slurm --cuda-arg -- python3 /tmp/meet.py --cuda 7 --x"))
	}
	for _, id := range ids {
		poll(t, "both meet", func() bool { return try(t, "alice", fmt.Sprintf("test -e /tmp/meet.%d", id)).Code == 0 })
	}
	sh(t, "alice", "touch /tmp/meet.go")
	for i, id := range ids {
		j := wait(t, id)
		want := fmt.Sprintf("['--cuda', '0', '--x'] True %d %d", id, j.GPUs[0].Index)
		if got := output(t, "alice", id); j.State != "completed" || !strings.Contains(got, want) {
			t.Errorf("job %d is %s and prints %q, want %q", i, j.State, got, want)
		}
	}
	sh(t, "alice", "rm /tmp/meet.*")
}

// TestHints: frameworks in jobs with a part of a GPU are told that part, in the environment of the
// command and of 'gpusched exec', unless the submitter or the site does not want that. 'gpusched
// show -o wide' says what was set.
func TestHints(t *testing.T) {
	begin(t)
	const look = "env | grep -E '^(XLA|TF|GPUSCHED_GPU_FRACTION)' | sort"
	told := func(options string) string {
		id := submit(t, "alice", options+` -- sh -c "`+look+`"`)
		mustEnd(t, wait(t, id), "completed", "")
		return output(t, "alice", id)
	}
	half := told("-g 0.5")
	m := regexp.MustCompile(`^GPUSCHED_GPU_FRACTION=(0\.4\d*)\nTF_FORCE_GPU_ALLOW_GROWTH=true\nXLA_PYTHON_CLIENT_MEM_FRACTION=(0\.4\d*)$`).FindStringSubmatch(half)
	if m == nil || m[1] != m[2] {
		t.Fatalf("half of a GPU: %q", half)
	}
	if got := told("-g 1"); got != "" {
		t.Errorf("a whole GPU: %q", got)
	}
	if got := told("-g 0.5 -e XLA_CLIENT_MEM_FRACTION=.3 -e TF_FORCE_GPU_ALLOW_GROWTH="); got != "GPUSCHED_GPU_FRACTION="+m[1]+"\nTF_FORCE_GPU_ALLOW_GROWTH=\nXLA_CLIENT_MEM_FRACTION=.3" {
		t.Errorf("with the submitter's own values: %q", got)
	}
	id := submit(t, "alice", "-g 0.5 -- sleep 1000")
	waitRun(t, id)
	if got := sh(t, "alice", fmt.Sprintf("gpusched exec %d -- sh -c %q", id, look)); strings.TrimSpace(got) != half {
		t.Errorf("exec: %q", got)
	}
	if got := sh(t, "bob", fmt.Sprintf("gpusched show %d -o wide", id)); !strings.Contains(got, "XLA_PYTHON_CLIENT_MEM_FRACTION="+m[1]+", TF_FORCE_GPU_ALLOW_GROWTH=true (unless its own environment sets them)") {
		t.Errorf("show: %s", got)
	}
	settings(t, "[jobs]\nframework_hints = false")
	if got := told("-g 0.5"); got != "" {
		t.Errorf("on a site without hints: %q", got)
	}
}
