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
	prepareEngine(t, engine)
	begin(t)
}

// prepareEngine gives the machine the image "box" for an engine, and a description of its GPUs.
func prepareEngine(t *testing.T, engine string) {
	t.Helper()
	sh(t, "", "containers.sh cdi; containers.sh "+engine+" 2>&1")
}

// tryGPUs are shell commands that try to open the four GPUs. opened reads what they print.
const tryGPUs = "for n in 0 1 2 3; do cat /dev/nvidia$n 2>&1; done"

// opened returns what happened to the four GPUs in the output of tryGPUs: open, refused (by the
// device filter) or missing. There is no driver behind the nodes of the GPUs, so an open that the
// filter allows fails with ENXIO.
func opened(output string) (what []string) {
	for line := range strings.Lines(output) {
		_, node, found := strings.Cut(line, "dev/nvidia")
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

// pidOf waits for the only process that has this command line.
func pidOf(t *testing.T, commandLine string) (pid string) {
	t.Helper()
	poll(t, "the command runs", func() bool {
		r := try(t, "", "pgrep -fx '"+commandLine+"'")
		pid = strings.TrimSpace(r.Stdout)
		return r.Code == 0
	})
	return pid
}

// useMemory makes the only process that has this command line use memory of a GPU.
func useMemory(t *testing.T, commandLine string, bytes int64, gpu int) {
	t.Helper()
	sh(t, "", fmt.Sprintf("echo %d >/run/fakenvml/claims/%s-%d", bytes, pidOf(t, commandLine), gpu))
}

// groupOf returns the control group of the only process that has this command line. The path is the
// one that root sees outside all containers.
func groupOf(t *testing.T, commandLine string) string {
	t.Helper()
	out := sh(t, "", "cat /proc/"+pidOf(t, commandLine)+"/cgroup")
	_, group, _ := strings.Cut(out, "0::")
	return group
}
