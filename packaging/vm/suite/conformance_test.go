//go:build machine

package suite

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestConformance runs the suite of units/unittest, which the systemd in
// memory passes on the host, on the real one: what the other tests of the tree
// rest on. The daemon is away meanwhile, since the units have the names of
// jobs.
func TestConformance(t *testing.T) {
	begin(t)
	bin := filepath.Join(t.TempDir(), "systemd.test")
	build := exec.Command("go", "test", "-c", "-tags", "machine", "-o", bin, "github.com/gpusched/gpusched/units/systemd")
	build.Env = append(build.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := the.CopyIn(t.Context(), bin, "/usr/local/bin/systemd.test", 0o755); err != nil {
		t.Fatal(err)
	}
	sh(t, "", "systemctl stop gpusched.socket gpusched.service")
	r := try(t, "", "cd /tmp && /usr/local/bin/systemd.test -test.v -test.timeout 110s -test.run '^TestMachine' 2>&1")
	if r.Code != 0 || strings.Count(r.Stdout, "--- PASS: TestMachineConformance") == 0 {
		t.Errorf("exit %d\n%s", r.Code, r.Stdout)
	}
}
