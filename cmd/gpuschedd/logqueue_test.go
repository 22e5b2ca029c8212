package main

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// slowJournal reads nothing until its gate is closed.
type slowJournal struct {
	gate chan struct{}
	text bytes.Buffer
}

func (j *slowJournal) Write(p []byte) (int, error) {
	<-j.gate
	return j.text.Write(p)
}

// Whoever logs goes on while the journal does not read; what found no room is
// counted, health tells, and everything is well again afterwards.
func TestLogNeverBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		journal := &slowJournal{gate: make(chan struct{})}
		q := newLogQueue(journal)
		log := slog.New(newJournalHandler(q, slog.LevelInfo))
		const extra = 100
		for i := range logLines + 1 + extra {
			log.Info("line", "n", i)
			if i == 0 {
				synctest.Wait() // it is being written
			}
		}
		if c := checkJournalReads(q, time.Now()); c.Health != job.Healthy {
			t.Errorf("at once: %+v", c)
		}
		time.Sleep(logPatience)
		if c := checkJournalReads(q, time.Now()); c.Health != job.Degraded || !strings.Contains(c.Detail, fmt.Sprint(extra, " lines")) {
			t.Errorf("while it does not read: %+v", c)
		}
		close(journal.gate)
		if err := q.Close(); err != nil {
			t.Fatal(err)
		}
		text := journal.text.String()
		if n := strings.Count(text, "msg=line"); n != logLines+1 {
			t.Errorf("%d lines are there, want %d", n, logLines+1)
		}
		if !strings.Contains(text, fmt.Sprint("lines=", extra)) || strings.Count(text, "left out") != 1 {
			t.Error("it does not say how many were left out")
		}
		if c := checkJournalReads(q, time.Now()); c.Health != job.Healthy {
			t.Errorf("afterwards: %+v", c)
		}
	})
}

// The end of the daemon does not wait for a journal that never reads.
func TestLogEndsWithoutTheJournal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		journal := &slowJournal{gate: make(chan struct{})}
		q := newLogQueue(journal)
		_, _ = q.Write([]byte("last\n"))
		began := time.Now()
		_ = q.Close()
		if took := time.Since(began); took > logPatience {
			t.Errorf("it took %s", took)
		}
		close(journal.gate)
		<-q.done
	})
}
