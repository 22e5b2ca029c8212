//go:build packages

package check

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestInstallForOneUser: 'make install-user' installs the programs and user units in a home. This
// needs neither root nor a package.
func TestInstallForOneUser(t *testing.T) {
	home := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "sh", "../install-user.sh")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	lib := filepath.Join(home, ".local/lib/gpusched")
	unit, err := os.ReadFile(filepath.Join(home, ".config/systemd/user/gpusched.service"))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"ExecStart=" + lib + "/gpuschedd --user\n", "ExecReload=" + lib + "/gpusched --user config check\n"} {
		if !strings.Contains(string(unit), line) {
			t.Errorf("no %q in the unit:\n%s", line, unit)
		}
	}
	if strings.Contains(string(unit), "/usr/libexec") {
		t.Errorf("the unit starts what is not there:\n%s", unit)
	}
	for _, program := range []string{lib + "/gpuschedd", lib + "/gpusched-job", lib + "/gpusched-nvml", lib + "/gpusched-notify", lib + "/gpusched-slurm", lib + "/gpusched-top", lib + "/gpusched-mcp", home + "/.local/bin/gpusched"} {
		if info, err := os.Stat(program); err != nil || info.Mode().Perm() != 0o755 {
			t.Errorf("%s: %v", program, err)
		}
	}
}
