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
