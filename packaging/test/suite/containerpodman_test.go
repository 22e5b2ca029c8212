//go:build machine

package suite

import (
	"fmt"
	"strings"
	"testing"
)

// jobsPodman is a shell function that runs Podman with the directories of jobs.
const jobsPodman = `W=/run/gpujobs-containers/$(id -u)
D=$(podman info -f '{{.Store.GraphDriverName}}' 2>/dev/null) S=$(podman info -f '{{.Store.GraphRoot}}' 2>/dev/null)
jobs() { DBUS_SESSION_BUS_ADDRESS=unix:path=/nonexistent XDG_RUNTIME_DIR=$W podman --root=$S/gpusched --storage-opt=$D.imagestore=$S \
	--storage-driver=$D --runroot=$W/run --tmpdir=$W/tmp --events-backend=none --log-level=error --cgroup-manager=cgroupfs --runtime=crun "$@"; }
`

// nothingLeft checks that alice has no container of a job, and that no process with this command
// line runs.
func nothingLeft(t *testing.T, commandLine string) {
	t.Helper()
	if r := try(t, "", fmt.Sprintf("pgrep -fx '%s'", commandLine)); r.Code == 0 {
		t.Errorf("%s has outlived its job: process %s", commandLine, r.Stdout)
	}
	if out := sh(t, "alice", jobsPodman+"jobs ps -aq"); out != "" {
		t.Errorf("containers are left: %s", out)
	}
}

// TestInContainerPodman: the command runs in the image, in the job's control group, as the user who
// submitted it, and can open only the job's GPU. A command of 'gpusched exec' runs in the same
// container. Nothing is left after a cancel.
func TestInContainerPodman(t *testing.T) {
	beginContainer(t, "podman")
	const script = "'" + tryGPUs + `; id -u; touch made; echo "$KEY $HOME $GPUSCHED_JOB_ID"; cat /etc/image; exec sleep 1718'`
	id := submit(t, "alice", "-g 1 --image box -e KEY=secret -- sh -c "+script)
	out := waitText(t, id, "\nbox")
	mustOpen(t, out, "open missing missing missing")
	if want := fmt.Sprintf("0\nsecret /home/alice %d\nbox", id); !strings.Contains(out, want) {
		t.Errorf("it printed %q, not %q", out, want)
	}
	if own := sh(t, "", "stat -c %U /home/alice/made"); own != "alice" {
		t.Errorf("a file in the home directory belongs to %s", own)
	}
	want := fmt.Sprintf("/gpujobs.slice/gpujobs-u1001.slice/gpujob-%d.service", id)
	if got := groupOf(t, "sleep 1718"); got != want {
		t.Errorf("the container is in %s, want %s", got, want)
	}
	if out := sh(t, "bob", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '"); strings.Contains(out, "secret") {
		t.Error("another user reads the value of a variable")
	}
	if out := sh(t, "alice", fmt.Sprintf("gpusched exec %d -- sh -c 'cat /etc/image; echo $KEY; ps | grep -q [s]leep && echo sees it'", id)); out != "box\nsecret\nsees it" {
		t.Errorf("a command beside the job's printed %q", out)
	}
	cancel(t, "alice", id)
	nothingLeft(t, "sleep 1718")

	all := submit(t, "alice", "-g 1 --image box --image-arg=--device=nvidia.com/gpu=all -- sh -c '"+tryGPUs+"; exit 7'")
	mustEnd(t, wait(t, all), "failed", "exit code 7")
	mustOpen(t, output(t, "alice", all), "open refused refused refused")
}

// TestInContainerPodmanStops: a SIGTERM arrives in the container once. A warning signal arrives at
// every process of the container, and at no process of Podman.
func TestInContainerPodmanStops(t *testing.T) {
	beginContainer(t, "podman")
	const script = `'trap "echo got TERM; sleep 1; exit 5" TERM; trap "echo got USR2" USR2; echo ready; while :; do sleep 0.1; done'`
	id := submit(t, "alice", "--image box -- sh -c "+script)
	waitText(t, id, "ready")
	sh(t, "alice", fmt.Sprintf("gpusched cancel --signal USR2 %d", id))
	waitText(t, id, "got USR2")
	cancel(t, "alice", id)
	if out := output(t, "alice", id); strings.Count(out, "got TERM") != 1 {
		t.Errorf("it printed %q", out)
	}
	nothingLeft(t, "podman .*")
}

// TestInContainerPodmanKilled: the kill of a container harms neither the other containers of its
// user, in a job or outside, nor a later job.
func TestInContainerPodmanKilled(t *testing.T) {
	beginContainer(t, "podman")
	first := submit(t, "alice", "--image box -- sh -c 'echo first; sleep 1719'")
	waitText(t, first, "first")
	second := submit(t, "alice", "--image box -- sh -c 'echo second; sleep 1720'")
	waitText(t, second, "second")
	sh(t, "", fmt.Sprintf("systemctl kill -s KILL gpujob-%d", first))
	wait(t, first)
	if out := sh(t, "alice", fmt.Sprintf("gpusched exec %d -- cat /etc/image", second)); out != "box" {
		t.Errorf("a command in the other job printed %q", out)
	}
	if out := sh(t, "alice", "podman run --rm --network=host --cgroups=disabled box cat /etc/image 2>/dev/null"); out != "box" {
		t.Errorf("the user's own Podman printed %q", out)
	}
	sh(t, "", fmt.Sprintf("systemctl kill -s KILL gpujob-%d", second))
	wait(t, second)
	third := submit(t, "alice", "--image box -- cat /etc/image")
	mustEnd(t, wait(t, third), "completed", "exit code 0")
	nothingLeft(t, "sleep 1719")
}

// TestInContainerPodmanTerminal: a job with a terminal has one in the container. Nothing is typed, and
// the input does not end, since script(1) would then type NUL: Podman 4.3 may lose the output of a
// short command if something is typed meanwhile, without gpusched too.
func TestInContainerPodmanTerminal(t *testing.T) {
	beginContainer(t, "podman")
	out := sh(t, "alice", "rm -f silence; mkfifo silence; "+
		"script -qec \"gpusched run --tty --image box -- sh -c 'tty; cat /etc/image; exit 3'\" /dev/null <>silence; echo status $?; rm silence")
	if !strings.Contains(out, "/dev/pts/0") || !strings.Contains(out, "box\r\n") || !strings.Contains(out, "status 3") {
		t.Errorf("it printed %q, its log has %q", out, sh(t, "alice", "gpusched logs"))
	}
	nothingLeft(t, "podman .*")
}

// TestInContainerPodmanPull: an image that is not on the machine is pulled as part of the job. If
// the pull fails, the job's output has Podman's error message.
func TestInContainerPodmanPull(t *testing.T) {
	beginContainer(t, "podman")
	id := submit(t, "alice", "--image localhost:1/none:1 -- true")
	mustEnd(t, wait(t, id), "failed", "could not start: its image could not be pulled, or the engine that runs its container does not work (see its output)")
	out := output(t, "alice", id)
	for _, want := range []string{"the image localhost:1/none:1 is not here yet: podman pull", "connection refused", `its image "localhost:1/none:1" could not be pulled`} {
		if !strings.Contains(out, want) {
			t.Errorf("it printed %q, without %q", out, want)
		}
	}
}
