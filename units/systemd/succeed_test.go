package systemd

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
)

// No call is sent to systemd before the bus has seen the end of the last connection, whether a dead
// daemon or this one had it. A name from another bus does not count.
func TestCallsOfTheLastConnectionComeFirst(t *testing.T) {
	for text, waits := range map[string]int{"": 0, "bus\n": 0, "bus :1.5": 0, "bus :1.5\n": 3, "another :1.5\n": 0} {
		synctest.Test(t, func(t *testing.T) {
			b := newFakeBus(t, starter)
			b.last, b.lingers = filepath.Join(t.TempDir(), "connection"), waits
			if text != "" {
				if err := os.WriteFile(b.last, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			b.manager()
			b.mu.Lock()
			calls := slices.Clone(b.calls)
			b.mu.Unlock()
			asked, subscribed := 0, slices.Index(calls, "Subscribe")
			for i, c := range calls {
				if c == "NameHasOwner" && i < subscribed {
					asked++
				}
			}
			if want := map[bool]int{true: waits + 1}[waits > 0]; asked != want || subscribed < 0 {
				t.Errorf("%q: asked %d times, want %d: %v", text, asked, want, calls)
			}
			if now, err := os.ReadFile(b.last); err != nil || string(now) != "bus :1.9\n" {
				t.Errorf("%q: the file names %q: %v", text, now, err)
			}
		})
	}
}
