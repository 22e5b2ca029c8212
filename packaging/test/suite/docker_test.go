//go:build machine

package suite

import (
	"fmt"
	"path"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/daemon/job"
)

// onlyDocker are settings with which jobs use Docker.
const onlyDocker = quickSampling + "\n[containers]\nengines = [\"docker\"]"

// sliceOf returns the control group of a job's own slice.
func sliceOf(uid int, id int64) string {
	return fmt.Sprintf("/gpujobs.slice/gpujobs-u%d.slice/gpujobs-u%[1]d-j%d.slice", uid, id)
}

// mustBeGone waits until nothing is left of a job with Docker: no process, container, unit or slice.
func mustBeGone(t *testing.T, commandLine string) {
	t.Helper()
	poll(t, "nothing is left of the job", func() bool {
		return try(t, "", "pgrep -fx '"+commandLine+"'; docker ps -aq --filter name=gpujob; "+
			"systemctl list-units --all --plain --no-legend 'gpujob-*' 'gpujobs-u*-j*.slice' 'docker-*.scope'").Stdout == ""
	})
}

// TestInContainerDocker: a container of Docker is below its job's slice, and the slice's device
// filter applies to it. The container can open the job's own GPU, even after a reload of systemd.
// It can't open the others, not even as root or with --privileged. Its GPU use counts as the job's.
// 'gpusched exec' enters the container, and a suspension freezes it. A parked job can't open its GPU.
// A cancelled job leaves nothing.
func TestInContainerDocker(t *testing.T) {
	beginContainer(t, "docker")
	settings(t, onlyDocker+"\n[park]\nallow = true")
	withCUDA(t)
	gpusSeen(t)
	const all = " --image-arg=--device=/dev/nvidia0 --image-arg=--device=/dev/nvidia1"
	id := submit(t, "alice", "-g 1 --gpu-ids 0"+all+" --image box -- sh -c '"+tryGPUs+"; echo $HOME; id -u; cat /etc/image; exec sleep 1711'")
	out := waitText(t, id, "box")
	mustOpen(t, out, "open refused missing missing")
	if !strings.Contains(out, "/home/alice\n1001\n") {
		t.Errorf("home and user: %s", out)
	}
	group := groupOf(t, "sleep 1711")
	if !strings.HasPrefix(group, sliceOf(1001, id)+"/docker-") {
		t.Errorf("the container is in %s", group)
	}
	scope := group[strings.LastIndexByte(group, '/')+1:]
	poll(t, "the container's scope has no filter of its own", func() bool {
		return strings.TrimSpace(sh(t, "", "systemctl show -P DevicePolicy "+scope)) == "auto"
	})
	sh(t, "", "systemctl daemon-reload")
	inside := fmt.Sprintf("docker exec -u 0 gpujob-%d-1 ", id)
	if out := try(t, "", inside+"cat /dev/nvidia0").Stderr; !strings.Contains(out, "No such device or address") {
		t.Errorf("after a reload, the job's own GPU: %s", out)
	}
	if out := try(t, "", inside+"sh -c 'mknod /tmp/n c 195 1; cat /tmp/n /dev/nvidia1'").Stderr; !strings.Contains(out, "mknod: /tmp/n: Operation not permitted") ||
		!strings.Contains(out, "'/dev/nvidia1': Operation not permitted") {
		t.Errorf("after a reload, another GPU: %s", out)
	}
	r := try(t, "alice", fmt.Sprintf("gpusched exec %d -- sh -c 'cat /etc/image /proc/1/comm; id -u; exit 3'", id))
	if r.Code != 3 || r.Stdout != "box\ndocker-init\n1001\n" {
		t.Errorf("exec: %+v", r)
	}
	useMemory(t, "sleep 1711", 5<<30, 0)
	poll(t, "the memory counts to the job", func() bool { return strings.Contains(sh(t, "alice", fmt.Sprintf("gpusched show %d", id)), "5G") })
	if p := processesOn(t, 0); len(p) != 1 || p[0].Job != job.ID(id) {
		t.Errorf("on the job's GPU: %+v", p)
	}
	frozen := func() string {
		return strings.TrimSpace(sh(t, "", "grep frozen /sys/fs/cgroup"+group+"/cgroup.events"))
	}
	for _, c := range []struct{ command, want string }{{"suspend", "frozen 1"}, {"resume", "frozen 0"}} {
		sh(t, "alice", fmt.Sprintf("gpusched %s %d", c.command, id))
		poll(t, c.want, func() bool { return frozen() == c.want })
	}
	opened := func() string { return sh(t, "", "systemctl show -P DeviceAllow "+path.Base(sliceOf(1001, id))) }
	sh(t, "alice", fmt.Sprintf("gpusched park %d", id))
	poll(t, "the job is parked", func() bool { return len(processesOn(t, 0)) == 0 && frozen() == "frozen 1" })
	if list := opened(); strings.Contains(list, "/dev/char/195:0 ") {
		t.Errorf("parked, the job can open %s", list)
	}
	sh(t, "alice", fmt.Sprintf("gpusched unpark %d", id))
	poll(t, "the job has its GPU again", func() bool { return len(processesOn(t, 0)) == 1 && frozen() == "frozen 0" })
	if out := try(t, "", inside+"cat /dev/nvidia0").Stderr; !strings.Contains(out, "No such device or address") {
		t.Errorf("unparked, the job's own GPU: %s; it can open %s", out, opened())
	}
	cancel(t, "alice", id)
	mustBeGone(t, "sleep 1711")
	id = submit(t, "alice", "-g 1 --gpu-ids 0 --image-arg=--privileged --image box -- sh -c '"+tryGPUs+"; exit 7'")
	mustEnd(t, wait(t, id), "failed", "exit code 7")
	mustOpen(t, output(t, "alice", id), "open refused refused refused")
}

// TestInContainerDockerKilled: the container of a job with Docker ends with the job, whatever is
// killed: the client of Docker, a command that has ignored SIGTERM until the end of its grace, or
// the daemon between any two steps.
func TestInContainerDockerKilled(t *testing.T) {
	beginContainer(t, "docker")
	settings(t, onlyDocker)
	gpusSeen(t)
	id := submit(t, "alice", "-g 1 --image box -- sleep 1712")
	poll(t, "the container runs", func() bool { return try(t, "", "pgrep -fx 'sleep 1712'").Code == 0 })
	sh(t, "", fmt.Sprintf("systemctl kill -s KILL gpujob-%d.service", id))
	mustEnd(t, wait(t, id), "failed", "signal 9")
	mustBeGone(t, "sleep 1712")

	id = submit(t, "alice", `-g 1 --grace 1s --image box -- sh -c 'trap "" TERM; while :; do sleep 1713; done'`)
	poll(t, "the container runs", func() bool { return try(t, "", "pgrep -fx 'sleep 1713'").Code == 0 })
	sh(t, "", killDaemon)
	if j := show(t, "alice", id); j.State != "running" {
		t.Errorf("after a kill of the daemon the job is %s", j.State)
	}
	cancel(t, "alice", id)
	mustBeGone(t, "sleep 1713")

	for i := range 6 { // the daemon dies before, while and after it makes the slice and the unit
		id := submit(t, "alice", "-g 1 --image box -- sleep 1714")
		sh(t, "", fmt.Sprintf("sleep 0.%d; %s", i*4, killDaemon))
		waitRun(t, id)
		poll(t, "the container runs", func() bool { return try(t, "", "pgrep -fx 'sleep 1714'").Code == 0 })
		sh(t, "alice", fmt.Sprintf("gpusched cancel %d", id))
		sh(t, "", fmt.Sprintf("sleep 0.0%d; %s", i*2, killDaemon))
		mustEnd(t, wait(t, id), "cancelled", "cancelled by alice")
		mustBeGone(t, "sleep 1714")
	}
}

// TestInContainerDockerRestarted: a restart of Docker ends the containers. A job with --requeue
// starts again. A job with --no-requeue is lost, and its result says why.
func TestInContainerDockerRestarted(t *testing.T) {
	beginContainer(t, "docker")
	settings(t, onlyDocker)
	gpusSeen(t)
	again := submit(t, "alice", "-g 1 --requeue --image box -- sleep 1715")
	lost := submit(t, "alice", "-g 1 --no-requeue --image box -- sleep 1716")
	poll(t, "both run", func() bool { return try(t, "", "pgrep -fx 'sleep 1715' && pgrep -fx 'sleep 1716'").Code == 0 })
	sh(t, "", "systemctl restart docker")
	mustEnd(t, wait(t, lost), "lost", "Docker was stopped or restarted while the job ran")
	poll(t, "the job runs again", func() bool {
		return show(t, "alice", again).State == "running" && try(t, "", "pgrep -fx 'sleep 1715'").Code == 0
	})
	cancel(t, "alice", again)
	mustBeGone(t, "sleep 1715")
}

// TestInContainerDockerStopped: a stop of Docker, whose unit is not enabled here, ends the containers,
// too. A job that is to start meanwhile waits, says why, and starts when Docker is back.
func TestInContainerDockerStopped(t *testing.T) {
	beginContainer(t, "docker")
	settings(t, onlyDocker)
	gpusSeen(t)
	const back = "systemctl start docker.socket docker"
	t.Cleanup(func() { try(t, "", back) })
	lost := submit(t, "alice", "-g 1 --no-requeue --image box -- sleep 1719")
	poll(t, "the container runs", func() bool { return try(t, "", "pgrep -fx 'sleep 1719'").Code == 0 })
	waits := submit(t, "alice", "--hold -g 1 --image box -- sleep 1720")
	sh(t, "", "systemctl stop docker.socket docker")
	mustEnd(t, wait(t, lost), "lost", "Docker was stopped or restarted while the job ran")
	sh(t, "alice", fmt.Sprintf("gpusched release %d", waits))
	poll(t, "the job says why it waits", func() bool {
		return strings.Contains(sh(t, "alice", fmt.Sprintf("gpusched list -o cols=why %d", waits)), "the daemon of Docker, which runs its container, is stopped")
	})
	sh(t, "", back)
	poll(t, "the job runs", func() bool { return try(t, "", "pgrep -fx 'sleep 1720'").Code == 0 })
	cancel(t, "alice", waits)
	mustBeGone(t, "sleep 1720")
}

// TestInContainerDockerSlices: alice made a slice that has the name of a later job's slice. GPU use
// in it is not the job's. The processes in it are ended before the job starts.
func TestInContainerDockerSlices(t *testing.T) {
	beginContainer(t, "docker")
	settings(t, onlyDocker)
	gpusSeen(t)
	next := submit(t, "bob", "-g 0 -- true") + 1
	sh(t, "alice", fmt.Sprintf("docker run -d --pull=never --rm --init --cgroup-parent=gpujobs-u1001-j%d.slice --device /dev/nvidia1 box sleep 1717", next))
	t.Cleanup(func() { try(t, "", "pkill -KILL -fx 'sleep 1717'") })
	useMemory(t, "sleep 1717", 5<<30, 1)
	poll(t, "the process is seen, and counts to no job", func() bool { p := processesOn(t, 1); return len(p) == 1 && p[0].Job == 0 })
	id := submit(t, "alice", "-g 1 --gpu-ids 0 --image box -- sleep 1718")
	if id != next {
		t.Fatalf("the job is %d, not %d", id, next)
	}
	poll(t, "the job runs", func() bool { return try(t, "", "pgrep -fx 'sleep 1718'").Code == 0 })
	if r := try(t, "", "pgrep -fx 'sleep 1717'"); r.Code == 0 {
		t.Errorf("process %s is still in the slice", r.Stdout)
	}
	if got := strings.TrimSpace(sh(t, "", fmt.Sprintf("systemctl show -P DevicePolicy gpujobs-u1001-j%d.slice", id))); got != "closed" {
		t.Errorf("the slice's device policy is %s", got)
	}
	cancel(t, "alice", id)
	mustBeGone(t, "sleep 1718")
	if r := try(t, "bob", "gpusched submit -g 1 --image box -- true"); r.Code == 0 || !strings.Contains(r.Stderr, "group docker") {
		t.Errorf("bob, who may not use Docker: %+v", r)
	}
}

// TestInContainerChoice: whoever may use Docker gets the engine that the site names first. Anybody
// else gets the next one.
func TestInContainerChoice(t *testing.T) {
	beginContainer(t, "podman")
	beginContainer(t, "docker")
	settings(t, quickSampling+"\n[containers]\nengines = [\"docker\", \"podman\"]")
	gpusSeen(t)
	for user, engine := range map[string]string{"alice": "docker", "bob": "podman"} {
		id := submit(t, user, "-g 0 --image box -- cat /etc/image")
		mustEnd(t, wait(t, id), "completed", "exit code 0")
		if shown := sh(t, user, fmt.Sprintf("gpusched show %d", id)); !strings.Contains(shown, "box ("+engine+")") {
			t.Errorf("%s: %s", user, shown)
		}
	}
}
