package installation

import (
	"slices"
	"testing"

	"github.com/gpusched/gpusched/daemon/api"
)

// For a user's own scheduler, doctor checks what such a scheduler needs. It shows the names of that
// scheduler's units.
func TestOwnScheduler(t *testing.T) {
	socket := t.TempDir() + "/none"
	names := func(own bool) (list []string, next string) {
		for _, c := range Check(t.Context(), &api.Client{Socket: socket, Own: own}, "1", t.TempDir()) {
			if c.Name == "socket" {
				next = c.Next
			}
			list = append(list, c.Name)
		}
		return list, next
	}
	machine, _ := names(false)
	own, next := names(true)
	for _, name := range []string{"device filter", "settings on disk", "drop-ins", "sessions"} {
		if !slices.Contains(machine, name) || slices.Contains(own, name) {
			t.Errorf("%q: %v, of a user's own scheduler %v", name, machine, own)
		}
	}
	if want := "systemctl --user status gpusched.socket gpusched.service; journalctl --user -u gpusched -n 50"; next != want {
		t.Errorf("%q, want %q", next, want)
	}
}
