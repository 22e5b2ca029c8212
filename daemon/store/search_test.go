package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// hold takes all connections of one access until the test's end, as running reads would.
func hold(t *testing.T, db *sql.DB, a access) {
	t.Helper()
	for range connections(a) {
		conn, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
	}
}

// Invariant 5: the reads of a submission or a start do not wait for other readers.
func TestSubmissionsHaveReadersOfTheirOwn(t *testing.T) {
	s := openNew(t)
	j := queuedJob(1)
	j.Key = "k"
	commit(t, s, job.Record{Job: j, Payload: payload()}, job.Record{Job: endedJob(2, job.Completed)})
	hold(t, s.read, reading)
	hold(t, s.reports, reporting)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second) // without connections of its own, the read would hang
	defer cancel()
	if id, known, err := s.ByKey(ctx, 1001, "k"); id != 1 || !known || err != nil {
		t.Errorf("the job of a request key is %d, %t, %v", id, known, err)
	}
	if ends, err := s.Ends(ctx, []job.ID{1, 2}); len(ends) != 1 || err != nil {
		t.Errorf("what a dependency is on ended as %v, %v", ends, err)
	}
	if p, err := s.Payload(ctx, 1); len(p.Argv) != 4 || err != nil {
		t.Errorf("the command of a job that starts is %q, %v", p.Argv, err)
	}
}

// Invariant 5: a search of ended jobs does not delay the look-up of one job. If too many searches
// run, a search is refused.
func TestLongReadsTakeTurns(t *testing.T) {
	s := openNew(t)
	s.long.maxTurnWait = time.Millisecond
	commit(t, s, job.Record{Job: endedJob(1, job.Completed)}, job.Record{Job: endedJob(2, job.Failed)})
	hold(t, s.reports, reporting)
	ctx := t.Context()
	long := map[string]func() error{
		"filter":  func() error { _, err := s.Ended(ctx, job.Query{Choice: job.Choice{Like: "*x*"}, Ended: 5}); return err },
		"many":    func() error { _, err := s.Ended(ctx, job.Query{Ended: fewEnded + 1}); return err },
		"array":   func() error { _, err := s.Ended(ctx, job.Query{Array: 7, Ended: 5}); return err },
		"numbers": func() error { _, err := s.Jobs(ctx, make([]job.ID, manyIDs)); return err },
		"history": func() error { _, err := s.Past(ctx, job.PastQuery{}); return err },
		"results": func() error { _, err := s.Results(ctx, 7); return err },
		"report":  func() error { return s.Runs(ctx, job.RunQuery{}, nil) },
	}
	for name, read := range long {
		var refusal *job.Refusal
		if err := read(); !errors.As(err, &refusal) || refusal.Code != "unavailable/reads" {
			t.Errorf("%s: while others read long the answer is %v", name, err)
		}
	}
	if list, err := s.Ended(ctx, job.Query{Ended: 5}); len(list) != 2 || err != nil {
		t.Errorf("the newest that ended: %d, %v", len(list), err)
	}
	if list, err := s.Jobs(ctx, []job.ID{1}); len(list) != 1 || err != nil {
		t.Errorf("one job: %d, %v", len(list), err)
	}
}

// A search that is interrupted for other reads finds the same jobs as a search that is not
// interrupted.
func TestSearchInParts(t *testing.T) {
	s := openNew(t)
	var records []job.Record
	for id := job.ID(1); id <= 23; id++ {
		j := endedJob(id, []job.State{job.Completed, job.Failed}[id%2])
		j.Owner.UID, j.Owner.User = 1001+int(id%3), fmt.Sprint("user", id%3)
		j.Label.Name = fmt.Sprint("n", id%4)
		j.ChangedAt = epoch.Add(time.Duration(id/5) * time.Minute) // five jobs at a time
		j.Attempt.EndedAt = j.ChangedAt
		records = append(records, job.Record{Job: j})
	}
	commit(t, s, records...)
	uid := 1002
	for _, q := range []job.Query{
		{}, {Ended: 7}, {UID: &uid, User: "user1"}, {UID: &uid, User: "user1", Ended: 4}, {User: "user2"},
		{Choice: job.Choice{Name: "n1"}}, {Choice: job.Choice{Like: "*3"}, Ended: 3}, {Choice: job.Choice{States: []job.State{job.Failed}}},
		{Choice: job.Choice{Since: epoch.Add(3 * time.Minute)}}, {Choice: job.Choice{Like: "x"}},
	} {
		s.long.rows = 1000
		want, err := s.Ended(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, rows := range []int{1, 2, 5, 22, 23, 24} {
			s.long.rows = rows
			got, err := s.Ended(t.Context(), q)
			requireEqual(t, err, got, want)
		}
		for i := range want {
			if !q.Matches(&want[i]) {
				t.Errorf("job %d is found by %+v", want[i].ID, q)
			}
		}
	}
}
