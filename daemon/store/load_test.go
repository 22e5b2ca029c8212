package store

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// Done lists exactly the jobs that completed and have a content hash. If a task of an array
// completed, the array is not in Done.
func TestDone(t *testing.T) {
	s := openNew(t)
	hashed := func(j *job.Job, hash string) *job.Job {
		j.Request.Dedup = hash
		return j
	}
	whole := hashed(array(6, 0), "e")
	whole.Tasks.Next = 1
	whole.State, whole.Result = job.Completed, &job.Result{Outcome: job.Completed}
	for _, j := range []*job.Job{
		hashed(queuedJob(1), "a"), hashed(endedJob(2, job.Failed), "b"), hashed(endedJob(4, job.Completed), "c"), hashed(endedJob(3, job.Completed), "d"),
		endedJob(5, job.Completed), whole,
	} {
		commit(t, s, job.Record{Job: j, Payload: payload()})
	}
	commit(t, s, job.Record{Job: taskOf(hashed(endedJob(7, job.Completed), "e"), 6, 0)})
	mustCheck(t, s)
	st, err := s.Load(context.Background())
	requireEqual(t, err, st.Done, []job.Done{{UID: 1001, Dedup: "d", Job: 3}, {UID: 1001, Dedup: "c", Job: 4}, {UID: 1001, Dedup: "e", Job: 6}})
}

// The newest predictions are kept, in order from the oldest to the newest. A reservation is removed
// a day after its end.
func TestPrune(t *testing.T) {
	t.Parallel()
	s := openNew(t)
	ctx := context.Background()
	if _, err := s.write.Exec(`INSERT INTO predictions (key, typical_ns, runs, at) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 102)
		SELECT 'k' || i, 1, 1, strftime('%Y-%m-%dT%H:%M:%S.000000000Z', 1700000000 - i, 'unixepoch') FROM n`); err != nil {
		t.Fatal(err)
	}
	until := func(id int64, d time.Duration) job.Record {
		return job.Record{Reservation: &job.Reservation{ID: id, To: epoch.Add(d)}}
	}
	commit(t, s, until(1, 0), until(2, time.Second), until(3, time.Hour))
	const most = 100
	if err := prune(ctx, s.write, epoch.Add(keepReservation+time.Second), most); err != nil {
		t.Fatal(err)
	}
	st, err := s.Load(ctx)
	requireEqual(t, err, len(st.Predictions), most)
	requireEqual(t, err, st.Predictions[0].Key, "k100")
	requireEqual(t, err, st.Predictions[most-1].Key, "k1")
	requireEqual(t, err, st.Reservations, []job.Reservation{*until(2, time.Second).Reservation, *until(3, time.Hour).Reservation})
}

// The id of a reservation is not given out again, even if no reservation is left (invariant 3).
func TestNextReservationOnlyGrows(t *testing.T) {
	s := openNew(t)
	commit(t, s, job.Record{Reservation: &job.Reservation{ID: 4}}, job.Record{Unreserve: 4}, job.Record{Unreserve: 77})
	path := s.path
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	st, err := openAt(t, path).Load(context.Background())
	requireEqual(t, err, len(st.Reservations), 0)
	requireEqual(t, err, st.NextReservation, 5)
	requireEqual(t, err, st.NextID, 1)
}

// In a long list, each job gets its own attempt. An error names the row that cannot be decoded, as
// in a short list.
func TestLongList(t *testing.T) {
	s := openNew(t)
	ctx := context.Background()
	var want []job.Job
	var records []job.Record
	for id := job.ID(1); id <= 2007; id++ {
		j := queuedJob(id)
		if id%3 == 0 {
			j = runningJob(id)
			j.Attempt.InvocationID = fmt.Sprint(id)
		}
		j.Label.Comment = fmt.Sprint("größe ", id)
		want = append(want, *j)
		records = append(records, job.Record{Job: j, Payload: payload()})
	}
	commit(t, s, records...)
	st, err := s.Load(ctx)
	requireEqual(t, err, st.Jobs, want)
	for _, damage := range []string{"UPDATE jobs SET life = '{' WHERE id = 700", "UPDATE jobs SET life = '{}', attempt = 5 WHERE id = 700",
		"UPDATE jobs SET request = '{' WHERE id = 700"} {
		if _, err := s.write.Exec(damage); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Load(ctx); err == nil || !strings.Contains(err.Error(), "job 700: ") {
			t.Fatalf("%s: %v", damage, err)
		}
	}
}

// If a user has many kinds of jobs, only the newest predictions of this user are kept. Older
// predictions of other users stay.
func TestPrunePerUser(t *testing.T) {
	t.Parallel()
	s := openNew(t)
	ctx := context.Background()
	if _, err := s.write.Exec(`INSERT INTO predictions (key, typical_ns, runs, at) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
		SELECT '1001 shape 1000 ' || i, 1, 1, strftime('%Y-%m-%dT%H:%M:%S.000000000Z', 1700000000 + i, 'unixepoch') FROM n
		UNION ALL SELECT '100' || CASE i WHEN 1 THEN '' ELSE ' size ' || i END, 1, 1, '2001-01-01T00:00:00.000000000Z' FROM n WHERE i < 4`,
		keepUserPredictions+7); err != nil {
		t.Fatal(err)
	}
	if err := prune(ctx, s.write, epoch, keepPredictions); err != nil {
		t.Fatal(err)
	}
	st, err := s.Load(ctx)
	requireEqual(t, err, len(st.Predictions), keepUserPredictions+3)
	requireEqual(t, err, st.Predictions[0].Key, "100")
	requireEqual(t, err, st.Predictions[3].Key, "1001 shape 1000 8")
}

// The last time at which the machine was on is kept, even if the clock is set back.
func TestAliveIsKept(t *testing.T) {
	s := openNew(t)
	for _, at := range []time.Time{noon, noon.Add(-time.Hour)} {
		if err := s.Commit(t.Context(), []job.Record{{Alive: at}}); err != nil {
			t.Fatal(err)
		}
		if st, err := s.Load(t.Context()); err != nil || !st.Alive.Equal(at) {
			t.Errorf("%s, want %s: %v", st.Alive, at, err)
		}
	}
}
