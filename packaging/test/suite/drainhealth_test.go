//go:build machine

package suite

import (
	"fmt"
	"strings"
	"testing"
)

// TestHealthTellsDrains: health and doctor each report a forgotten drain once. The reports say who
// drained the GPU and why, and do not call the drain a fault.
func TestHealthTellsDrains(t *testing.T) {
	begin(t)
	t.Cleanup(func() { try(t, "", "gpusched gpu undrain 1; gpusched gpu resume 2; gpusched daemon resume") })
	_, before := health(t)
	sh(t, "", "gpusched gpu drain 1 --reason fan; gpusched gpu pause 2 --until +1h; gpusched daemon drain --reason upgrade")
	text, after := health(t)
	doctor := try(t, "alice", "gpusched doctor").Stdout
	for _, want := range []string{"drained by root (fan), since ", "paused by root until ", "drained by root (upgrade), since "} {
		if strings.Count(text, want) != 1 || strings.Count(doctor, want) != 1 {
			t.Errorf("%q is not once in health and doctor:\n%s\n%s", want, text, doctor)
		}
	}
	if before != after || strings.Count(text, "LIMITED") != 3 {
		t.Errorf("an intended setting counts as a fault: exit status %d became %d\n%s", before, after, text)
	}
	sh(t, "", "gpusched gpu undrain 1; gpusched gpu resume 2; gpusched daemon resume")
	if text, _ := health(t); strings.Contains(text, "LIMITED") {
		t.Errorf("it is still there:\n%s", text)
	}
	id := submit(t, "alice", "-g 1 -- sleep 1000")
	waitRun(t, id)
	if text := sh(t, "alice", "systemctl status gpujob-"+fmt.Sprint(id)); !strings.Contains(text, "the job's command has been started") || strings.Contains(text, "gpusched-launch") {
		t.Errorf("systemctl status of a job says\n%s", text)
	}
	cancel(t, "alice", id)
}
