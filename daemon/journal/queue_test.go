package journal

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// slow reads nothing until its gate is closed.
type slow struct {
	gate chan struct{}
	got  []entry
}

func (s *slow) send(e entry) error {
	<-s.gate
	s.got = append(s.got, e)
	return nil
}

// Invariant 1: whoever logs goes on while the journal does not read; what found
// no room is counted, and all is well again afterwards.
func TestLogNeverBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		journal := &slow{gate: make(chan struct{})}
		q := newQueue(journal, nil)
		log := slog.New(NewHandler(q, slog.LevelInfo))
		const extra = 100
		for i := range queueLength + 1 + extra {
			log.Info("line", "n", i)
			if i == 0 {
				synctest.Wait() // it is being sent
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

// The end of the daemon does not wait for a journal that never reads.
func TestLogEndsWithoutTheJournal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		journal := &slow{gate: make(chan struct{})}
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
