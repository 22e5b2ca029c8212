//go:build machine

package systemd

import (
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"github.com/gpusched/gpusched/units"
	"github.com/gpusched/gpusched/units/contract"
	"github.com/gpusched/gpusched/units/unittest"
)

// actStubborn asks systemd for another hour whenever it is told to end.
func actStubborn() int {
	terms := make(chan os.Signal, 1)
	signal.Notify(terms, syscall.SIGTERM)
	if _, err := daemon.SdNotify(false, "STATUS=listening"); err != nil {
		return 97
	}
	for range terms {
		if _, err := daemon.SdNotify(false, "EXTEND_TIMEOUT_USEC=3600000000"); err != nil {
			return 96
		}
	}
	return 95
}

// A job that delays its end through systemd's own protocol is ended like any other.
func TestMachineStubborn(t *testing.T) {
	m := connect(t)
	s := spec(1, actorPrefix+stubbornWord)
	if _, err := m.Start(t.Context(), units.Name(1), units.Properties(s)); err != nil {
		t.Fatal(err)
	}
	waitStatusLine(t, m, 1, "listening")
	began := time.Now()
	if err := m.Stop(t.Context(), units.Name(1)); err != nil {
		t.Fatal(err)
	}
	took := time.Since(began)
	if took < s.Grace || took > s.Grace+stopPatience+2*stopSlack {
		t.Errorf("the stop took %v", took)
	}
	if took < stopPatience {
		t.Errorf("the stop took %v: nothing was put off, so nothing was tested", took)
	}
}

// waitStatusLine waits until the unit's status line is the given text. It must read the status
// again and again, because no Change reports the line of a unit that keeps running.
func waitStatusLine(t *testing.T, m *Manager, id int64, text string) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(2 * time.Minute); ; {
		status, err := m.Status(t.Context(), units.Name(id))
		if err != nil {
			t.Fatal(err)
		}
		if status.StatusText == text {
			return
		}
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("unit %d never said %q: %+v", id, text, status)
		}
	}
}

// A successful start can be distinguished from a failed start, however fast the launcher ends,
// because the launcher's report that it has begun arrives even then.
func TestMachineFastEnds(t *testing.T) {
	m := connect(t)
	const runs = 80
	early := 0
	for i := range runs {
		want := contract.Exit{Code: 1}
		b := unittest.Behaviour{Launch: "begun", Code: 217} // reserved by systemd
		props := unitProperties(1, b)
		if i%2 == 0 {
			s := spec(1, "/nonexistent")
			s.Launcher = "/bin/false"
			props = units.Properties(s)
		} else {
			want.Code = 217
		}
		status, err := m.Start(t.Context(), units.Name(1), props)
		if err != nil {
			t.Fatal(err)
		}
		if e := waitEnd(t, m, 1); e != want {
			t.Fatalf("got %+v from %+v, want %+v", e, status, want)
		}
		last, err := m.Status(t.Context(), units.Name(1))
		if err != nil {
			t.Fatal(err)
		}
		if !last.WasActive {
			early++
		}
		if strings.HasPrefix(last.StatusText, contract.StatusPrefix) != (i%2 == 1) {
			t.Fatalf("status line: %+v", last)
		}
		if err := m.Stop(t.Context(), units.Name(1)); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d of %d ended before systemd saw them begin", early, runs)
}
