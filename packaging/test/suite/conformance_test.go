//go:build machine

package suite

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestConformance runs the conformance suite of units/systemd on the real systemd. On the host, the
// in-memory systemd (units/unittest) passes the same suite, and tests that use this systemd rely on
// that. The daemon is stopped during the test, because the suite's units are named like jobs.
func TestConformance(t *testing.T) {
	onSystemd(t, "machine", "^TestMachine", "TestMachineConformance", "TestMachineTidy")
}

// TestLimitsConformance runs the part of the suite that needs the memory controller.
func TestLimitsConformance(t *testing.T) {
	onSystemd(t, "machine,controllers", "^TestControllers", "TestControllersMemory", "TestControllersUsage")
}

// onSystemd runs in the machine the tests of units/systemd that match a pattern. The tests whose
// names are passed last must be among them.
func onSystemd(t *testing.T, tags, pattern string, named ...string) {
	t.Helper()
	begin(t)
	bin := testBinary(t, tags, "units/systemd")
	if err := the.CopyIn(t.Context(), bin, "/usr/local/bin/systemd.test", 0o755); err != nil {
		t.Fatal(err)
	}
	sh(t, "", "systemctl stop gpusched.socket gpusched.service")
	// Each wait in the tests has its own limit. This limit ends hangs elsewhere.
	const limit = 8 * time.Minute
	const run = "cd /tmp && /usr/local/bin/systemd.test -test.v -test.timeout %v -test.run '%s' 2>&1"
	r := tryFor(t, "", fmt.Sprintf(run, limit*max(1, the.slow/2), pattern), limit+time.Minute)
	if r.Code != 0 {
		t.Errorf("exit %d\n%s", r.Code, r.Stdout)
	}
	for _, test := range named {
		if !strings.Contains(r.Stdout, "--- PASS: "+test) {
			t.Errorf("%s did not pass\n%s", test, r.Stdout)
		}
	}
}

// testBinary builds the tests of a package of this module and returns the path of the result. It
// builds with the same settings as make, so that both share one build cache. The machine's C
// library must not be older than the host's.
func testBinary(t *testing.T, tags, pkg string) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), filepath.Base(pkg)+".test")
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-vet=off", "-tags", tags, "-o", bin, "github.com/gpusched/gpusched/"+pkg)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return bin
}
