package main

import (
	"bytes"
	"log/slog"
	"slices"
	"testing"

	"github.com/gpusched/gpusched/daemon/config"
)

// TestJournalHandler: each record is one line with journald's priority, and
// no time of its own.
func TestJournalHandler(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(newJournalHandler(&out, slog.LevelDebug)).With("unit", "u")
	log.Debug("d")
	log.Info("two\nlines", "job", 7)
	log.Warn("w")
	log.Error("e")
	want := "<7>msg=d unit=u\n<6>msg=\"two\\nlines\" unit=u job=7\n<4>msg=w unit=u\n<3>msg=e unit=u\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}

// TestNeedRestart names what a reload can't change, and nothing else.
func TestNeedRestart(t *testing.T) {
	old, now := config.Default(), config.Default()
	now.Jobs.MaxRunning++
	if keys := needRestart(old, now); keys != nil {
		t.Errorf("a reload can change this: %v", keys)
	}
	now.GPUs.NVMLLibrary, now.Daemon.StartsInFlight = "/x", 3
	if keys := needRestart(old, now); !slices.Equal(keys, []string{"daemon.starts_in_flight", "gpus.nvml_library"}) {
		t.Errorf("keys %v", keys)
	}
}

func TestHost(t *testing.T) {
	if boot, err := bootID(); err != nil || len(boot) != 36 {
		t.Errorf("boot id %q: %v", boot, err)
	}
	if mem, err := hostMemory(); err != nil || mem < 1<<20 {
		t.Errorf("host memory %d: %v", mem, err)
	}
	if uid, ok := userID("root"); !ok || uid != 0 || userName(0) != "root" || userName(1<<30) != "" {
		t.Errorf("root is %d, %v, %q", uid, ok, userName(0))
	}
}
