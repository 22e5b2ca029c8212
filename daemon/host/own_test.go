package host

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gpusched/gpusched/daemon/job"
)

// The missing device filter is a limitation, not a fault. But if the site's filter closes GPUs to
// sessions, that is a fault.
func TestCheckNoFilter(t *testing.T) {
	dev := t.TempDir()
	for _, name := range []string{"nvidia0", "nvidia1", "nvidiactl"} {
		if err := os.WriteFile(filepath.Join(dev, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if c := checkNoFilter(dev, func(string) error { return nil }); c.Health != job.Limited || !strings.Contains(c.Detail, "not enforced") {
		t.Errorf("%+v", c)
	}
	c := checkNoFilter(dev, func(path string) error {
		if strings.HasSuffix(path, "0") {
			return nil
		}
		return syscall.EPERM
	})
	if c.Health != job.Degraded || !strings.Contains(c.Detail, "1 of 2 GPUs are closed") {
		t.Errorf("%+v", c)
	}
	for path, want := range map[string]bool{dev: true, dev + "/none": false} {
		if got, err := Exists(path); got != want || err != nil {
			t.Errorf("%s: %t, %v", path, got, err)
		}
	}
}
