package supervise

import (
	"bytes"
	"database/sql"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// asked is a service manager that keeps what it was asked.
type asked struct {
	texts []string
	until time.Time
}

func (a *asked) Extend(by time.Duration, text string) {
	a.texts, a.until = append(a.texts, text), time.Now().Add(by)
}

// While the schema changes, the service manager is asked for more time before the last is
// over, and told how far it is; not for ever.
func TestTheManagerWaitsForAnUpgrade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told bytes.Buffer
		m := &asked{}
		u := upgrade{path: "/state.db", log: slog.New(slog.NewTextHandler(&told, nil)), manager: m}
		u.end(nil)
		if m.texts != nil || told.Len() > 0 {
			t.Errorf("without a change: %q, %s", m.texts, &told)
		}
		u.step(8, 10)
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if left := time.Until(m.until); left < extendBy/2 {
			t.Errorf("it waits for %s more", left)
		}
		u.step(9, 10)
		time.Sleep(extendEvery)
		synctest.Wait()
		if first, last := m.texts[0], m.texts[len(m.texts)-1]; !strings.HasSuffix(first, "change 1 of 2, for 0s so far") ||
			!strings.HasSuffix(last, "change 2 of 2, for 5m10s so far") {
			t.Errorf("it was told %q and at last %q", first, last)
		}
		time.Sleep(extendMost)
		synctest.Wait()
		if n := len(m.texts); time.Now().Before(m.until) {
			t.Errorf("it waits for ever: asked %d times", n)
		}
		u.end(nil)
		if log := told.String(); strings.Count(log, "\n") != 2 || !strings.Contains(log, "/state.db.schema-8.bak") || !strings.Contains(log, "schema=10") {
			t.Errorf("the journal has\n%s", log)
		}
	})
}

// A file of an older release is reported once, one of this release not at all.
func TestAnUpgradeIsTold(t *testing.T) {
	var told bytes.Buffer
	m := &asked{}
	f := &stateFile{path: filepath.Join(t.TempDir(), "state.db"), log: slog.New(slog.NewTextHandler(&told, nil)), manager: m}
	script, err := os.ReadFile("../store/testdata/schema-9.sql")
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", f.path) // the store's driver
	if err == nil {
		_, err = db.Exec(string(script))
	}
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		opened, _, err := f.open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		opened.Close()
	}
	if log := told.String(); strings.Count(log, "\n") != 2 || len(m.texts) != 1 {
		t.Errorf("%q, and the journal has\n%s", m.texts, log)
	}
}
