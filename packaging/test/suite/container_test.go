//go:build machine

package suite

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/gpusched/gpusched/packaging/test/vm"
)

// theContainers is the box with container engines that the tests named TestInContainer… share. The
// first of these tests boots it.
var theContainers struct {
	sync.Once
	*machine
	err error
}

// closeContainers closes theContainers.
func closeContainers() {
	if theContainers.machine != nil {
		theContainers.Close()
	}
}

// bootContainers boots a box with container engines. None of their services runs yet.
func bootContainers(ctx context.Context) (*machine, error) {
	m, err := boot(ctx, vm.Box, the.deb, vm.ContainerPackages(vm.Suite(*suite)))
	if err != nil {
		return nil, err
	}
	box := &machine{Machine: m, deb: the.deb, slow: 1}
	return box, m.CopyIn(ctx, "../containers/containers.sh", "/usr/local/bin/containers.sh", 0o755)
}

// beginContainer is like begin, but the test uses theContainers until its end. The box has the image
// "box" for an engine, and a description of its GPUs for all engines.
func beginContainer(t *testing.T, engine string) {
	t.Helper()
	theContainers.Do(func() {
		theContainers.machine, theContainers.err = bootContainers(context.WithoutCancel(t.Context()))
	})
	if theContainers.err != nil {
		t.Fatal(theContainers.err)
	}
	before := the
	the = theContainers.machine
	t.Cleanup(func() { the = before })
	sh(t, "", "containers.sh cdi; containers.sh "+engine+" 2>&1")
	begin(t)
}

// tryGPUs are shell commands that try to open the four GPUs. opened reads what they print.
const tryGPUs = "for n in 0 1 2 3; do cat /dev/nvidia$n 2>&1; done"

// opened returns what happened to the four GPUs in the output of tryGPUs: open, refused (by the
// device filter) or missing. There is no driver behind the nodes of the GPUs, so an open that the
// filter allows fails with ENXIO.
func opened(output string) (what []string) {
	for line := range strings.Lines(output) {
		_, node, found := strings.Cut(line, "/dev/nvidia")
		switch {
		case !found:
		case strings.Contains(node, "No such device or address"):
			what = append(what, "open")
		case strings.Contains(node, "Operation not permitted"):
			what = append(what, "refused")
		case strings.Contains(node, "No such file or directory"):
			what = append(what, "missing")
		default:
			what = append(what, line)
		}
	}
	return what
}

// mustOpen checks the output of tryGPUs.
func mustOpen(t *testing.T, output, want string) {
	t.Helper()
	if got := strings.Join(opened(output), " "); got != want {
		t.Errorf("the GPUs are %q, want %q:\n%s", got, want, output)
	}
}

// groupOf returns the control group, as root sees it outside all containers, of the only process
// with a command line.
func groupOf(t *testing.T, commandLine string) string {
	t.Helper()
	out := sh(t, "", fmt.Sprintf("cat /proc/$(pgrep -fx '%s')/cgroup", commandLine))
	_, group, _ := strings.Cut(out, "0::")
	return group
}

// ownPodman is a shell function that runs Podman as a job does.
const ownPodman = `W=$(mktemp -d)
pod() { DBUS_SESSION_BUS_ADDRESS=unix:path=/nonexistent XDG_RUNTIME_DIR=$W podman --root=$HOME/.local/share/gpusched/storage \
	--runroot=$W/run --tmpdir=$W/tmp --storage-driver=$D --storage-opt=$D.imagestore=$HOME/.local/share/containers/storage \
	--events-backend=none --log-level=error --cgroup-manager=cgroupfs --runtime=crun "$@"; }
D=$(podman info -f '{{.Store.GraphDriverName}}' 2>/dev/null)
run() { pod run --cgroups=disabled --log-driver=passthrough --sdnotify=ignore --network=host --pull=never --rm \
	--init --init-path=/usr/bin/tini-static --device nvidia.com/gpu=all "$@"; }
`

// TestInContainerPodmanByHand: a user who runs Podman with the right options in an ordinary job stays
// in the job, and the container opens only the job's GPU.
func TestInContainerPodmanByHand(t *testing.T) {
	beginContainer(t, "podman")
	sh(t, "alice", "cat >~/by-hand <<'END'\n"+ownPodman+`run box sh -c '`+tryGPUs+`; cat /etc/image; exec sleep 1717'
END`)
	id := submit(t, "alice", "-g 1 -- bash by-hand")
	mustOpen(t, waitText(t, id, "box"), "open refused refused refused")
	want := fmt.Sprintf("/gpujobs.slice/gpujobs-u1001.slice/gpujob-%d.service", id)
	if got := groupOf(t, "sleep 1717"); got != want {
		t.Errorf("the container is in %s, want %s", got, want)
	}
	cancel(t, "alice", id)
	if r := try(t, "", "pgrep -fx 'sleep 1717'"); r.Code == 0 {
		t.Errorf("the container has outlived its job: process %s", r.Stdout)
	}
}

// TestInContainerDockerInASlice: the device filter of a slice also applies to Docker's containers
// there, whatever devices they ask for.
func TestInContainerDockerInASlice(t *testing.T) {
	beginContainer(t, "docker")
	const slice = "gpujobs-u1001-j99.slice"
	const file = "/run/systemd/system/" + slice
	sh(t, "", "printf '[Slice]\nDevicePolicy=closed\nDeviceAllow=/dev/char/195:0 rwm\nDeviceAllow=/dev/char/195:255 rwm\n' >"+file+
		"; systemctl daemon-reload; systemctl start "+slice)
	t.Cleanup(func() { try(t, "", "systemctl stop "+slice+"; rm "+file+"; systemctl daemon-reload") })
	const run = "docker run --pull=never --rm --network=host "
	const all = " --device /dev/nvidia0 --device /dev/nvidia1 --device /dev/nvidia2 --device /dev/nvidia3 "
	for _, how := range []string{all, " --device-cgroup-rule='c *:* rwm'" + all} {
		mustOpen(t, sh(t, "alice", run+"--cgroup-parent="+slice+how+"box sh -c '"+tryGPUs+"; true'"), "open refused refused refused")
	}
	mustOpen(t, sh(t, "alice", run+all+"box sh -c '"+tryGPUs+"; true'"), "open open open open")
}
