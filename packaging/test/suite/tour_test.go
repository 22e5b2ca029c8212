//go:build machine

package suite

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/cmd/gpusched/manual"
)

// tourFiles creates the programs that gpusched(7) mentions. Small programs replace jupyter and
// others. They do what the recipe needs: print an address, listen at a port, or run their
// arguments.
const tourFiles = makeEnvironments + `
ln -s /usr/bin/python3 envs/conda/envs/torch/bin/python
rm -rf tour; mkdir -p tour/bin; cd tour; cp -r "../envs/my venv" .venv; ln -s /usr/bin/python3 bin/python
cat >train.py <<'EOF'
import os, sys
print("train", *sys.argv[1:], os.environ.get("WANDB_RUN_ID", "-"), len(os.environ.get("WANDB_API_KEY", "")), sys.executable, flush=True)
sys.exit(1 if sys.argv[1:] == ["--lr", "1e-4", "--seed", "3"] else 0)
EOF
echo 'import sys; sys.exit(0)' >eval.py; echo 'export READY=1' >env.sh; printf 'a\nb\na\n' >data.txt
echo 'echo no fold $GPUSCHED_ARRAY_TASK; exit 1' >fold.sh; echo 'echo the night is over' >long-run.sh; echo 'echo it failed' >report-failure.sh
cat >bin/jupyter-lab <<'EOF'
exec python3 - "$@" <<'END'` + jupyterStandIn + `END
EOF
cat >bin/torchrun <<'EOF'
exec python -c 'import os, socket, time; s = socket.create_server(("127.0.0.1", int(os.environ["PET_MASTER_PORT"]))); print("meet at", s.getsockname()[1], flush=True); time.sleep(2)'
EOF
echo 'echo accelerate "$@"' >bin/accelerate
for f in *.sh bin/jupyter-lab bin/torchrun bin/accelerate; do sed -i '1i #!/bin/sh' $f; chmod +x $f; done`

// inTour prepares alice's shell for the commands of the tour. In this shell, commands that need a
// terminal or another computer do nothing.
const inTour = `cd ~/tour; export PATH=~/tour/bin:$PATH; exec 2>&1 <<<hush-key
ssh() { :; }; tmux() { :; }
gpusched() { case ${*-} in top|shell*|attach*) ;; *) command gpusched "$@" || echo "status $? of gpusched $*";; esac; }
`

// tour types the commands of a section of gpusched(7) as alice. If a block of the section is given,
// it types only that block. It returns what the commands print.
func tour(t *testing.T, title string, part ...int) string {
	t.Helper()
	found := manual.About(strings.Fields(title))
	if len(found) != 1 {
		t.Fatalf("%q is %d sections", title, len(found))
	}
	scripts := manual.Typed(found[0].Text)
	if len(part) > 0 {
		scripts = scripts[part[0] : part[0]+1]
	}
	told := sh(t, "alice", inTour+strings.ReplaceAll(strings.Join(scripts, "\n"), "-m 64G", "-m 64M"))
	t.Logf("%s:\n%s", title, told)
	return told
}

var queuedAs = regexp.MustCompile(`(?m)^(?:job|array) ([0-9]+)`)

// queued returns the ids of the jobs that a command's output names.
func queued(t *testing.T, told string) (ids []int64) {
	t.Helper()
	for _, m := range queuedAs.FindAllStringSubmatch(told, -1) {
		var id int64
		fmt.Sscan(m[1], &id)
		ids = append(ids, id)
	}
	if len(ids) == 0 {
		t.Fatalf("no job is queued: %s", told)
	}
	return ids
}

// complete waits for jobs and returns what they printed. All of them must complete.
func complete(t *testing.T, ids ...int64) (printed string) {
	t.Helper()
	for _, id := range ids {
		mustEnd(t, wait(t, id), "completed", "")
		printed += output(t, "alice", id) + "\n"
	}
	return printed
}

// TestTour types the commands of gpusched(7) and checks that each recipe does what the text says.
// The test leaves out containers, since this machine has no engine for them.
func TestTour(t *testing.T) {
	begin(t)
	sh(t, "alice", tourFiles)
	t.Cleanup(func() { try(t, "alice", "tmux -L lab kill-server; rm -rf ~/tour ~/envs ~/.conda") })
	for title, want := range map[string]string{
		"first": "train --lr 1e-3", "conda": "envs/torch", "output": "train - 0",
	} {
		if got := complete(t, queued(t, tour(t, title))...); !strings.Contains(got, want) {
			t.Errorf("%s: the jobs print %q", title, got)
		}
	}
	if text := sh(t, "alice", "cd ~/tour; cat counts logs/*.txt"); !strings.Contains(text, "2 a") || !strings.Contains(text, "train - 0") {
		t.Errorf("in the files is %q", text)
	}
	if told := tour(t, "watching"); !strings.Contains(told, "it completed") || strings.Contains(told, "status ") {
		t.Errorf("watching it: %s", told)
	}
	t.Run("stopping", testTourStops)
	t.Run("sweep", testTourSweeps)
	t.Run("notebook", testTourNotebook)
	t.Run("checkpoints", testTourCheckpoints)
	t.Run("wandb", testTourKey)
	t.Run("torchrun", testTourPorts)
	t.Run("night", testTourLater)
}

func testTourStops(t *testing.T) {
	sh(t, "", "gpusched gpu pause 0-3")
	defer sh(t, "", "gpusched gpu resume 0-3")
	id := submit(t, "alice", "-- sleep 600")
	if told := tour(t, "why"); !strings.Contains(told, "paused") {
		t.Errorf("why: %s", told)
	}
	told := tour(t, "stopping")
	mustEnd(t, wait(t, id), "cancelled", "cancelled by alice")
	if j := show(t, "alice", id+1); strings.Contains(told, "status ") || !strings.Contains(told, "held") || j.State != "queued" || j.HeldBy != "" || j.TimeLimit.String() != "8h" {
		t.Errorf("the job that was resubmitted is %+v after %s", j, told)
	}
	cancel(t, "alice", id+1)
}

func testTourSweeps(t *testing.T) {
	if told := tour(t, "sweeps", 0); !strings.Contains(told, "1e-4") || !strings.Contains(told, "status 1 of gpusched wait name:sweep") {
		t.Errorf("a sweep of which one task fails: %s", told)
	}
	told := tour(t, "sweeps", 1)
	if !strings.Contains(told, "train --lr 1e-4 --seed 3") || strings.Contains(told, "seed 2") {
		t.Errorf("what failed: %s", told)
	}
	many := queued(t, tour(t, "sweeps", 2))[0]
	poll(t, "no further task starts", func() bool {
		return strings.Contains(askWhy(t, "alice", many), "failed")
	})
	cancel(t, "alice", many)
}

func testTourNotebook(t *testing.T) {
	for part := range 3 {
		if told := tour(t, "notebooks", part); part != 1 && !strings.Contains(told, "http://127.0.0.1:8888/?token=") {
			t.Errorf("there is no address: %s", told)
		}
	}
	sh(t, "alice", "gpusched cancel name:class")
	tour(t, "shells")
	poll(t, "a window of tmux is in the job", func() bool {
		return strings.Contains(try(t, "alice", "tmux -L lab run-shell 'cat /proc/self/cgroup >~/window'; cat ~/window; rm -f ~/window").Stdout, "gpujob-")
	})
	sh(t, "alice", "tmux -L lab kill-session; gpusched wait name:lab")
}

func testTourCheckpoints(t *testing.T) {
	id := queued(t, tour(t, "checkpoints", 0))[0]
	waitText(t, id, "goes on after step 0")
	told := tour(t, "checkpoints", 1)
	text := waitText(t, id, "stopped after step ")
	_, step, _ := strings.Cut(text, "stopped after step ") // the number depends on when the job was stopped
	step, _, _ = strings.Cut(step, "\n")
	if text = waitText(t, id, "goes on after step "+step); strings.Count(text, "goes on after step 0\n") != 1 {
		t.Errorf("%s prints %q", told, text)
	}
	if told = sh(t, "alice", "gpusched show name:long"); !strings.Contains(told, "sent back to the queue by alice") {
		t.Errorf("show: %s", told)
	}
	cancel(t, "alice", id)
}

func testTourKey(t *testing.T) {
	ids := queued(t, tour(t, "wandb"))
	text := complete(t, ids[:2]...)
	if run := fmt.Sprintf("train job-%d 8 ", ids[1]); !strings.Contains(text, "train - 8 ") || !strings.Contains(text, run) {
		t.Errorf("the jobs print %q", text)
	}
	if seen := try(t, "bob", fmt.Sprintf("gpusched show --json %d; gpusched list -a --json; systemctl show 'gpujob-*' --all", ids[0])).Stdout; strings.Contains(seen, "hush-key") {
		t.Errorf("bob sees the key: %s", seen)
	}
}

var meetingPlace = regexp.MustCompile(`meet at ([0-9]+)`)

func testTourPorts(t *testing.T) {
	text := complete(t, queued(t, tour(t, "torchruns"))...)
	ports := meetingPlace.FindAllStringSubmatch(text, -1)
	if len(ports) != 2 || ports[0][1] == ports[1][1] || !strings.Contains(text, "--main_process_port 2") {
		t.Errorf("the jobs meet at %v: %s", ports, text)
	}
}

func testTourLater(t *testing.T) {
	if text := complete(t, queued(t, tour(t, "night"))...); !strings.Contains(text, "the night is over") {
		t.Errorf("the job of the night prints %q", text)
	}
	told := tour(t, "one after")
	if r := try(t, "alice", "gpusched wait name:eval"); r.Code != 0 {
		t.Errorf("the chain: %s%s after %s", r.Stdout, r.Stderr, told)
	}
}
