package journal

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A slowSender waits until the channel gate is closed. Then it sends.
type slowSender struct {
	gate chan struct{}
	got  []entry
}

func (s *slowSender) send(e entry) error {
	<-s.gate
	s.got = append(s.got, e)
	return nil
}

// Invariant 1: callers do not wait while the journal does not read. Dropped entries are counted,
// and entries that are logged later are sent.
func TestLogNeverBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		journal := &slowSender{gate: make(chan struct{})}
		q := newQueue(journal, nil)
		log := slog.New(NewHandler(q, slog.LevelInfo))
		const extra = 100
		for i := range queueLength + 1 + extra {
			log.Info("line", "n", i)
			if i == 0 {
				synctest.Wait() // now the first entry is being sent
			}
		}
		if since, _ := q.Stuck(time.Now()); !since.IsZero() {
			t.Error("said to be stuck at once")
		}
		time.Sleep(patience)
		if since, lost := q.Stuck(time.Now()); since.IsZero() || lost != extra {
			t.Errorf("while it does not read: since %v, %d are lost", since, lost)
		}
		close(journal.gate)
		if err := q.Close(); err != nil {
			t.Fatal(err)
		}
		if len(journal.got) != queueLength+2 {
			t.Errorf("%d entries are there, want %d", len(journal.got), queueLength+2)
		}
		told := 0
		for _, e := range journal.got {
			if strings.Contains(e.text, "left out") && strings.HasSuffix(e.text, "lines=100") && e.level == slog.LevelWarn {
				told++
			}
		}
		if told != 1 {
			t.Errorf("%d entries say how many were left out", told)
		}
		if since, lost := q.Stuck(time.Now()); !since.IsZero() || lost != 0 {
			t.Errorf("afterwards: since %v, %d are lost", since, lost)
		}
	})
}

// Each entry of the audit log is sent before all other waiting lines, however many there are.
func TestAuditIsNeverCrowdedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		journal := &slowSender{gate: make(chan struct{})}
		q := newQueue(journal, nil)
		log := slog.New(NewHandler(q, slog.LevelInfo))
		deeds := 0
		for i := range 10 * queueLength {
			log.Info("line", "n", i)
			if i%500 == 0 {
				log.Info("audit", "n", i, "GPUSCHED_AUDIT", 1)
				deeds++
			}
			if i == 0 {
				synctest.Wait() // now the first entry is being sent
			}
		}
		close(journal.gate)
		if err := q.Close(); err != nil {
			t.Fatal(err)
		}
		arrived, last := 0, 0
		for i, e := range journal.got {
			if e.isAudit() {
				arrived, last = arrived+1, i
			}
		}
		if arrived != deeds || last > deeds+1 {
			t.Errorf("%d of %d entries of the audit log arrived, the last as number %d", arrived, deeds, last)
		}
	})
}

// If the queue of the audit log is full, a caller that adds an entry waits, but not for ever.
func TestAuditWaitsForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		journal := &slowSender{gate: make(chan struct{})}
		q := newQueue(journal, nil)
		log := slog.New(NewHandler(q, slog.LevelInfo)).With("GPUSCHED_AUDIT", 1)
		for range queueLength + 1 {
			log.Info("audit")
			synctest.Wait()
		}
		began := time.Now()
		log.Info("one more")
		if took := time.Since(began); took != patience {
			t.Errorf("it took %s", took)
		}
		go func() { time.Sleep(patience / 2); close(journal.gate) }()
		log.Info("and one when it reads again")
		_ = q.Close()
		if last := journal.got[len(journal.got)-1]; len(journal.got) != queueLength+3 || last.text != "and one when it reads again" {
			t.Errorf("%d entries arrived, the last %q", len(journal.got), last.text)
		}
	})
}

// The daemon can end even if the journal never reads.
func TestLogEndsWithoutTheJournal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		journal := &slowSender{gate: make(chan struct{})}
		q := newQueue(journal, nil)
		q.put(entry{text: "last"})
		began := time.Now()
		_ = q.Close()
		if took := time.Since(began); took > patience {
			t.Errorf("it took %s", took)
		}
		close(journal.gate)
		<-q.done
	})
}
