package supervise

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// Before the schema of the state file changes, systemd is asked for more time than a start may
// normally take. The extra time has a limit.
func TestTheManagerWaitsForAMigration(t *testing.T) {
	var told bytes.Buffer
	var asked time.Duration
	f := &stateFile{
		path: "/state.db", log: slog.New(slog.NewTextHandler(&told, nil)),
		extend: func(by time.Duration, _ string) { asked += by },
	}
	f.beginMigration(8, 10)()
	if asked < time.Hour || asked > 24*time.Hour {
		t.Errorf("it waits for %s", asked)
	}
	if newDesk(t).s.state.extend == nil {
		t.Error("nobody asks it")
	}
	if log := told.String(); strings.Count(log, "\n") != 2 || !strings.Contains(log, "/state.db.schema-8.bak") || !strings.Contains(log, "to=10") {
		t.Errorf("the journal has\n%s", log)
	}
}
