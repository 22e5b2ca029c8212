package supervise

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// asked is a service manager that keeps what it was asked.
type asked struct {
	mu    sync.Mutex // guards what follows
	texts []string
	until time.Time
}

func (a *asked) Extend(by time.Duration, text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.texts, a.until = append(a.texts, text), time.Now().Add(by)
}

func (a *asked) all() (texts []string, until time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.texts, a.until
}

// While the schema changes, the service manager is asked for more time before the last is
// over, and told how far it is; not for ever.
func TestTheManagerWaitsForAnUpgrade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told bytes.Buffer
		m := &asked{}
		u := upgrade{path: "/state.db", log: slog.New(slog.NewTextHandler(&told, nil)), manager: m}
		u.end(nil)
		if texts, _ := m.all(); texts != nil || told.Len() > 0 {
			t.Errorf("without a change: %q, %s", texts, &told)
		}
		u.step(8, 10)
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if _, until := m.all(); time.Until(until) < extendBy/2 {
			t.Errorf("it waits for %s more", time.Until(until))
		}
		u.step(9, 10)
		time.Sleep(extendEvery)
		synctest.Wait()
		texts, _ := m.all()
		if first, last := texts[0], texts[len(texts)-1]; !strings.HasSuffix(first, "change 1 of 2, for 0s so far") ||
			!strings.HasSuffix(last, "change 2 of 2, for 5m10s so far") {
			t.Errorf("it was told %q and at last %q", first, last)
		}
		time.Sleep(extendMost)
		synctest.Wait()
		if texts, until := m.all(); time.Now().Before(until) {
			t.Errorf("it waits for ever: asked %d times", len(texts))
		}
		u.end(nil)
		if log := told.String(); strings.Count(log, "\n") != 2 || !strings.Contains(log, "/state.db.schema-8.bak") || !strings.Contains(log, "schema=10") {
			t.Errorf("the journal has\n%s", log)
		}
	})
}
