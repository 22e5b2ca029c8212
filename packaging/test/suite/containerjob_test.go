//go:build machine

package suite

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

// jobSlice is the slice of alice's jobs.
const jobSlice = "/gpujobs.slice/gpujobs-u1001.slice/"

// groups has, for each engine, the control group of a container in a job of alice's.
var groups = map[contract.Engine]string{
	contract.Podman: jobSlice + "gpujob-%d.service",
	contract.Docker: jobSlice + "gpujobs-u1001-j%d.slice",
}

// lists are alice's commands that list the containers of her jobs. After a kill, Podman may list
// nothing until 'podman system migrate' has run, which the next job would run too.
var lists = map[contract.Engine]string{
	contract.Podman: `d=$(podman info -f '{{.Store.GraphDriverName}}' 2>/dev/null); r=~/.local/share/containers/storage; w=/run/` +
		contract.ContainersDir + `/1001; pod() { XDG_RUNTIME_DIR=$w podman --root=$r/` + contract.StoreDir +
		` --runroot=$w/run --tmpdir=$w/tmp --storage-driver=$d --storage-opt=$d.imagestore=$r --events-backend=none --log-level=error ` +
		`--cgroup-manager=cgroupfs "$@"; }; list() { pod ps --all --format {{.Names}}; }; list 2>/dev/null || { pod system migrate >/dev/null 2>&1; list; }`,
	contract.Docker: "docker ps --all --format {{.Names}}",
}

// onEngines runs a test with each engine that a job can have.
func onEngines(t *testing.T, test func(t *testing.T, engine contract.Engine)) {
	for _, engine := range []contract.Engine{contract.Podman, contract.Docker} {
		t.Run(string(engine), func(t *testing.T) {
			beginContainer(t, string(engine))
			settings(t, fmt.Sprintf("[containers]\nengines = [%q]", engine))
			gpusSeen(t)
			test(t, engine)
		})
	}
}

// mustHaveGone checks that a job has left no process, no container and no control group.
func mustHaveGone(t *testing.T, engine contract.Engine, id int64, commandLine string) {
	t.Helper()
	if r := try(t, "", "pgrep -fx '"+commandLine+"'"); r.Code == 0 {
		t.Errorf("job %d has left process %s", id, r.Stdout)
	}
	name := fmt.Sprintf("gpujob-%d-", id)
	// Docker's daemon removes a container soon after the end of its processes.
	poll(t, "the container is gone", func() bool { return !strings.Contains(sh(t, "alice", lists[engine]), name) })
	poll(t, "the control group is gone", func() bool { return try(t, "", "test -d /sys/fs/cgroup"+fmt.Sprintf(groups[engine], id)).Code != 0 })
}

// TestInContainerJob: a container is part of its job. It opens only the job's GPUs, its output is
// the job's output, 'gpusched exec' enters it, a suspension freezes it, and a cancel ends it.
func TestInContainerJob(t *testing.T) {
	onEngines(t, func(t *testing.T, engine contract.Engine) {
		sh(t, "alice", "mkdir -p ~/work; echo in-work >~/work/file; rm -f ~/ticks")
		// The engine did not make the nodes in /hostdev, so only the device filter decides about
		// them.
		id := submit(t, "alice", `-g 1 --gpu-ids 1 --grace 5m -C ~/work --image box --mount /dev:/hostdev -e WORD=se-cret -- sh -c 'cat /etc/image file; echo $WORD $HOME; pwd
			cd /hostdev; for n in 0 1 2 3; do cat /hostdev/nvidia$n 2>&1; done; echo told; n=0; while :; do n=$((n+1)); echo $n >~/ticks; sleep 0.05; done'`)
		told := waitText(t, id, "told")
		if !strings.HasPrefix(told, "box\nin-work\nse-cret /home/alice\n/home/alice/work\n") {
			t.Errorf("the job prints %q", told)
		}
		mustOpen(t, told, "refused open refused refused")
		if line := sh(t, "bob", "ps -ewwo args"); strings.Contains(line, "se-cret") {
			t.Errorf("bob reads the value of a variable in a command line")
		}

		// A second command enters the container.
		r := try(t, "alice", fmt.Sprintf("gpusched exec %d -- sh -c 'cat /etc/image; pwd; read line; echo $line; exit 7' <<<input", id))
		if r.Code != 7 || r.Stdout != "box\n/home/alice/work\ninput\n" || r.Stderr != "" {
			t.Errorf("exec: %+v", r)
		}
		at := fmt.Sprintf(groups[engine], id)
		for _, line := range []string{"sleep 1919", "sleep 1818"} {
			sh(t, "alice", fmt.Sprintf("setsid gpusched exec %d -- %s >/dev/null 2>&1 </dev/null &", id, line))
			poll(t, "the second command runs", func() bool { return try(t, "", "pgrep -fx '"+line+"'").Code == 0 })
			if got := groupOf(t, line); !isBelow(got, at) {
				t.Errorf("%s is in %s, want %s", line, got, at)
			}
		}

		count := func() string { return sh(t, "alice", "cat ~/ticks") }
		sh(t, "alice", fmt.Sprintf("gpusched suspend %d", id))
		poll(t, "the container is frozen", func() bool {
			was, is, _ := strings.Cut(sh(t, "alice", "cat ~/ticks; sleep 0.2; cat ~/ticks"), "\n")
			return was == is
		})
		was := count()
		sh(t, "alice", fmt.Sprintf("gpusched resume %d", id))
		poll(t, "the container goes on", func() bool { return count() != was })

		sh(t, "", "systemctl daemon-reload")
		inHostdev := strings.ReplaceAll(tryGPUs, "/dev", "/hostdev")
		mustOpen(t, sh(t, "alice", fmt.Sprintf("gpusched exec %d -- sh -c '%s; true'", id, inHostdev)), "refused open refused refused")

		if logs := sh(t, "alice", fmt.Sprintf("gpusched logs %d 2>&1", id)); strings.TrimSpace(logs) != strings.TrimSpace(told) {
			t.Errorf("logs shows\n%s\nand the job printed\n%s", logs, told)
		}
		cancel(t, "alice", id)
		for _, line := range []string{"sleep 1919", "sleep 1818", "sleep 0.05"} {
			mustHaveGone(t, engine, id, line)
		}
	})
}

// isBelow reports whether the first control group is the second one, or below the second one.
func isBelow(group, above string) bool { return group == above || strings.HasPrefix(group, above+"/") }

// TestInContainerEnds: a command in a container ends as any other. A job with an image that is not
// there, or an engine that the user cannot use, is refused.
func TestInContainerEnds(t *testing.T) {
	onEngines(t, func(t *testing.T, engine contract.Engine) {
		for command, want := range map[string]string{
			"true": "exit code 0", "sh -c 'exit 7'": "exit code 7", "no-such-program": "exit code 127",
			"sh -c 'kill -9 $$'": "exit code 137", "sh -c 'sleep 2020 & exit 3'": "exit code 3",
		} {
			j := wait(t, submit(t, "alice", "-g 0 --force --image box -- "+command))
			if !strings.Contains(j.Result.Sentence, want) {
				t.Errorf("%s: %s", command, j.Result.Sentence)
			}
			mustHaveGone(t, engine, int64(j.ID), "sleep 2020")
		}
		for end, want := range map[string]string{
			"gpusched cancel --now %d": "cancelled by alice", "gpusched cancel --grace 1s %d": "cancelled by alice",
			// A limit that a job has reached is refused: on a busy machine this job has run for a second.
			"for s in 1 2 5 20; do gpusched update --time ${s}s %d && exit; done; exit 1": "stopped at its time limit",
		} {
			id := submit(t, "alice", "-g 0 -t 1h --grace 1s --image box -- sh -c 'trap \"\" TERM; echo armed; sleep 2828; sleep 2828'")
			waitText(t, id, "armed")
			sh(t, "alice", fmt.Sprintf(end, id))
			if j := wait(t, id); !strings.Contains(j.Result.Sentence, want) {
				t.Errorf("after %s: %s", end, j.Result.Sentence)
			}
			mustHaveGone(t, engine, id, "sleep 2828")
		}
		r := try(t, "alice", "gpusched submit -g 0 --image localhost/no-such-image -- true")
		if r.Code == 0 || !strings.Contains(r.Stderr, "no image \"localhost/no-such-image\" here") {
			t.Errorf("an image that is not there: %+v", r)
		}
		if engine == contract.Docker {
			if r := try(t, "bob", "gpusched submit -g 0 --image box -- true"); r.Code == 0 || !strings.Contains(r.Stderr, "docker") {
				t.Errorf("a user who may not use Docker: %+v", r)
			}
		}
	})
}

// TestInContainerLogout: the user logs in and out while a job runs. The job's container continues,
// and can be entered and ended. The next job also starts.
func TestInContainerLogout(t *testing.T) {
	beginContainer(t, "podman")
	const in = "systemctl start user@1001"
	const out = "systemctl stop user@1001 user-runtime-dir@1001"
	t.Cleanup(func() { try(t, "", out) })
	sh(t, "", in)
	session := "export XDG_RUNTIME_DIR=/run/user/1001 DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/1001/bus; "
	var id int64
	_, err := fmt.Sscan(sh(t, "alice", session+"gpusched submit -q -g 1 --image box -- sh -c 'echo armed; sleep 2323'"), &id)
	if err != nil {
		t.Fatal(err)
	}
	waitText(t, id, "armed")
	for _, step := range []string{out, in, out} {
		sh(t, "", step)
		if r := try(t, "alice", fmt.Sprintf("gpusched exec %d -- cat /etc/image", id)); r.Code != 0 || r.Stdout != "box\n" {
			t.Errorf("exec after %s: %+v", step, r)
		}
	}
	cancel(t, "alice", id)
	mustHaveGone(t, contract.Podman, id, "sleep 2323")
	mustEnd(t, wait(t, submit(t, "alice", "-g 1 --image box -- true")), "completed", "exit code 0")
}

// TestInContainerCrash: the daemon is killed while containers run, start and end. The jobs
// continue, and the next daemon records their ends correctly.
func TestInContainerCrash(t *testing.T) {
	beginContainer(t, "podman")
	settled := submit(t, "alice", "-g 1 --image box -- sh -c 'echo armed; sleep 2424'")
	waitText(t, settled, "armed")
	sh(t, "", killDaemon)
	awaitDaemon(t)
	var ids []int64
	for n := range 6 {
		ids = append(ids, submit(t, "alice", "-g 1 --image box -- sleep 0.2"))
		sh(t, "", fmt.Sprintf("sleep 0.%02d; %s", n*6, killDaemon))
	}
	for _, id := range ids {
		mustEnd(t, wait(t, id), "completed", "exit code 0")
	}
	if j := show(t, "", settled); j.State != "running" || j.Attempt != 1 {
		t.Errorf("attempt %d of the job that ran is %s", j.Attempt, j.State)
	}
	cancel(t, "alice", settled)
	for _, id := range append(ids, settled) {
		mustHaveGone(t, contract.Podman, id, "sleep 2424")
	}
}

// TestInContainerUse: if a process in a container of Podman uses a GPU, this counts as use by the
// container's job. If a command of a job starts a container of Docker, that container is no part of
// the job, so its use is foreign.
func TestInContainerUse(t *testing.T) {
	for engine, args := range map[string]string{
		"podman": "--image box -- sleep 2525",
		"docker": "-- docker run --rm --init --name by-hand --network=host box sleep 2525",
	} {
		t.Run(engine, func(t *testing.T) {
			beginContainer(t, engine)
			settings(t, quickSampling)
			gpusSeen(t)
			id := submit(t, "alice", "--gpu-ids 0 "+args)
			t.Cleanup(func() { try(t, "", "pkill -KILL -fx 'sleep 2525'") })
			useMemory(t, "sleep 2525", 1<<30, 0)
			want := job.ID(id)
			if engine == "docker" {
				want = 0
			}
			poll(t, "the process is seen", func() bool {
				p := processesOn(t, 0)
				return len(p) == 1 && p[0].Job == want
			})
			cancel(t, "alice", id)
		})
	}
}

// TestLimitsContainer: the limits of a job on memory and tasks also apply to its container.
func TestLimitsContainer(t *testing.T) {
	if err := the.CopyIn(t.Context(), "../containers/containers.sh", "/usr/local/bin/containers.sh", 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		sh(t, "", "systemctl stop docker.socket docker containerd; umount /run/docker/netns/default") // a later reboot takes it away
	})
	for _, engine := range []contract.Engine{contract.Podman, contract.Docker} {
		t.Run(string(engine), func(t *testing.T) {
			prepareEngine(t, string(engine))
			begin(t)
			settings(t, fmt.Sprintf("[containers]\nengines = [%q]", engine))
			neighbour := submit(t, "alice", "-g 0 -m 100M --image box -- sleep 2727")
			waitRun(t, neighbour)
			hungry := submit(t, "alice", "-g 0 -m 100M --image box -- sh -c 'x=$(head -c 300000000 /dev/zero | tr \"\\0\" x); echo survived'")
			mustEnd(t, wait(t, hungry), "out-of-memory", "host memory limit of 100M")
			if out := output(t, "", hungry); strings.Contains(out, "survived") {
				t.Errorf("the container's command goes on: %s", out)
			}
			if got := sh(t, "", "cat /sys/fs/cgroup"+fmt.Sprintf(groups[engine], neighbour)+"/memory.max"); got != "104857600" {
				t.Errorf("memory.max is %s", got)
			}
			if engine == contract.Docker {
				tasks := sh(t, "", "cat /sys/fs/cgroup"+groupOf(t, "sleep 2727")+"/pids.max")
				if want := sh(t, "", fmt.Sprintf("systemctl show -P TasksMax gpujob-%d", neighbour)); tasks != want {
					t.Errorf("the container's pids.max is %s, not %s", tasks, want)
				}
			}
			cancel(t, "alice", neighbour)
			mustHaveGone(t, engine, neighbour, "sleep 2727")
		})
	}
}
