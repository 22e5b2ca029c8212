package store

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// pastJobs commits n jobs whose ends are a minute apart. The third job has two attempts.
func pastJobs(t testing.TB, s *Store, n int) {
	t.Helper()
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for i := range n {
		j := job.Job{
			ID: job.ID(i + 1), Owner: job.Owner{UID: 1001 + i%2, User: fmt.Sprint("user", i%2)},
			Label: job.Label{Name: fmt.Sprint("n", i%3)}, State: job.Completed, Result: &job.Result{Outcome: job.Completed},
			SubmittedAt: at, ChangedAt: at.Add(time.Duration(i/2) * time.Minute),
		}
		if i%4 == 3 {
			j.State, j.Result = job.Failed, &job.Result{Outcome: job.Failed, ExitCode: 1}
			j.Label.Tags = map[string]string{"run": "a'b"}
		}
		recs := []job.Record{{Job: &j, Payload: &job.Payload{}}}
		for number := range 1 + i%3/2 {
			one := j
			one.Attempt = &job.Attempt{Number: number + 1, PlacedAt: at, EndedAt: j.ChangedAt, EligibleAt: at.Add(-time.Minute)}
			recs = append(recs, job.Record{Job: &one})
			if number == 0 {
				recs[0].Job = &one
			}
		}
		if err := s.Commit(context.Background(), recs); err != nil {
			t.Fatal(err)
		}
	}
}

// The pages together have the whole history, each job once. This is true for both orders, and even
// if many jobs ended at the same time.
func TestPagesOfTheHistory(t *testing.T) {
	s := openNew(t)
	pastJobs(t, s, 23)
	for _, newest := range []bool{false, true} {
		for limit := 1; limit <= 24; limit++ {
			var got []job.ID
			for q := (job.PastQuery{Newest: newest, Limit: limit}); ; {
				page, err := s.Past(context.Background(), q)
				if err != nil || len(page.Jobs) > limit {
					t.Fatal(len(page.Jobs), err)
				}
				for _, j := range page.Jobs {
					got = append(got, j.ID)
				}
				if page.Next.IsZero() {
					break
				}
				text := page.Next.String()
				if q.After, err = job.ParseCursor(text); err != nil || q.After != page.Next {
					t.Fatalf("%q is read as %v, %v", text, q.After, err)
				}
			}
			for i := range 23 {
				want := job.ID(i + 1)
				if newest {
					want = job.ID(23 - i)
				}
				if len(got) != 23 || got[i] != want {
					t.Fatalf("newest %t, %d at once: %v", newest, limit, got)
				}
			}
		}
	}
}

// A page with attempts has fewer jobs, because each job may have a hundred attempts as large as the
// job.
func TestPagesWithAttemptsAreShort(t *testing.T) {
	for limit, want := range map[int]int{0: 50, 10: 10, 50: 50, 51: 50, 1000: 50} {
		if got := pageOf(&job.PastQuery{Limit: limit, Attempts: true}); got != want {
			t.Errorf("%d at once for %d", got, limit)
		}
	}
	if got := pageOf(&job.PastQuery{Limit: 5000}); got != job.MaxPast {
		t.Errorf("%d at once", got)
	}
}

func TestHistoryIsFiltered(t *testing.T) {
	s := openNew(t)
	pastJobs(t, s, 12)
	at := func(minute int) time.Time { return time.Date(2026, 3, 1, 12, minute, 0, 0, time.UTC) }
	uid := 1002
	for name, c := range map[string]struct {
		q    job.PastQuery
		want string
	}{
		"since is in":           {job.PastQuery{From: at(5)}, "[11 12]"},
		"until is not":          {job.PastQuery{To: at(1)}, "[1 2]"},
		"one minute":            {job.PastQuery{From: at(2), To: at(3)}, "[5 6]"},
		"of a user":             {job.PastQuery{UID: &uid, To: at(2)}, "[2 4]"},
		"of an account":         {job.PastQuery{UID: &uid, User: "user1", To: at(2)}, "[2 4]"},
		"that had its number":   {job.PastQuery{UID: &uid, User: "liam", To: at(2)}, "[]"},
		"by an account's name":  {job.PastQuery{User: "user1", To: at(2)}, "[2 4]"},
		"failed":                {job.PastQuery{States: []job.State{job.Failed, job.Lost}}, "[4 8 12]"},
		"by name":               {job.PastQuery{Name: "n1"}, "[2 5 8 11]"},
		"by tag":                {job.PastQuery{Tag: job.Tag{Key: "run", Value: "a'b"}}, "[4 8 12]"},
		"by any value of a tag": {job.PastQuery{Tag: job.Tag{Key: "run", Any: true}}, "[4 8 12]"},
		"by another value":      {job.PastQuery{Tag: job.Tag{Key: "run", Value: "b"}}, "[]"},
		"by id":                 {job.PastQuery{IDs: []job.ID{7, 3, 99}}, "[3 7]"},
		"by no id":              {job.PastQuery{IDs: []job.ID{}}, "[]"},
		"all together":          {job.PastQuery{UID: &uid, States: []job.State{job.Failed}, Name: "n1", From: at(1)}, "[8]"},
	} {
		page, err := s.Past(context.Background(), c.q)
		ids := []job.ID{}
		for _, j := range page.Jobs {
			ids = append(ids, j.ID)
		}
		if got := fmt.Sprint(ids); err != nil || got != c.want {
			t.Errorf("%s: %s, %v, want %s", name, got, err, c.want)
		}
	}
	page, err := s.Past(context.Background(), job.PastQuery{IDs: []job.ID{2, 3}, Attempts: true})
	if err != nil || len(page.Attempts[2]) != 1 || len(page.Attempts[3]) != 2 || page.Attempts[3][1].Number != 2 {
		t.Errorf("attempts %+v, %v", page.Attempts, err)
	}
	if waited, ok := page.Attempts[3][0].Waited(); !ok || waited != time.Minute {
		t.Errorf("waited %s, %t", waited, ok)
	}
}
