package systemd

import (
	"os"
	"testing"
)

// A lock counts as lost when nobody has the other end any more.
func TestInhibitorIsLost(t *testing.T) {
	theirs, ours, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	i := &Inhibitor{ours}
	if !i.Held() {
		t.Error("not held, though logind has its end")
	}
	theirs.Close()
	if i.Held() {
		t.Error("held, though logind's end is closed")
	}
	i.Close()
}

func TestInhibitWithoutABus(t *testing.T) {
	if _, err := inhibit(t.Context(), "unix:path="+t.TempDir()+"/none", "sleep", "jobs run"); err == nil {
		t.Error("a lock without a bus")
	}
}

func TestLogindWithoutABus(t *testing.T) {
	address := "unix:path=" + t.TempDir() + "/none"
	if _, at, err := scheduledShutdown(t.Context(), address); err == nil {
		t.Errorf("a shutdown at %s without a bus", at)
	}
	if reboot(t.Context(), address, "kernel") == nil {
		t.Error("a reboot without a bus")
	}
}
