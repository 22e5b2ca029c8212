//go:build machine

package systemd

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/gpusched/gpusched/units"
)

// No file of an ended unit stays, whether systemd removes it or not; the files of a running unit
// stay (invariant 8).
func TestMachineTidy(t *testing.T) {
	m := connect(t)
	count := func() int {
		t.Helper()
		list, err := filepath.Glob(filepath.Join(fieldsDir, "log-*:gpujob-*.service"))
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	sweep := func(now time.Time) {
		t.Helper()
		if err := m.Tidy(t.Context(), now); err != nil {
			t.Fatal(err)
		}
	}
	now := time.Now()
	sweep(now)
	sweep(now.Add(fieldsKept)) // removes the files of other tests
	run(t, m, 100, "sleep 1000", nil)
	before := count()
	for id := range int64(50) {
		run(t, m, id+1, "true", nil)
		if err := m.Stop(t.Context(), units.Name(id+1)); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d files are left of 50 units", count()-before)
	sweep(now)
	sweep(now.Add(fieldsKept))
	if n := count(); n != before || before < 1 || before > len(prefixes) {
		t.Errorf("%d files are left of one unit that runs, %d before", n, before)
	}
}
