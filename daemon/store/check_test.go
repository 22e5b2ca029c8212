package store

import (
	"context"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/daemon/job"
)

// Check finds every violation of the invariants 3, 4 and 7.
func TestCheckFinds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ damage, want string }{
		{"UPDATE jobs SET state = 'dreaming' WHERE id = 1", "job 1: state \"dreaming\" does not exist"},
		{"UPDATE jobs SET result = NULL WHERE id = 3", "job 3: is completed but its result says <nil>"},
		{"UPDATE jobs SET result = '{\"outcome\":\"failed\"}' WHERE id = 3", "job 3: is completed but its result says"},
		{"UPDATE jobs SET result = '{\"outcome\":\"failed\"}' WHERE id = 1", "job 1: is queued but has a result"},
		{"UPDATE jobs SET request = '{' WHERE id = 2", "job 2: unexpected end of JSON input"},
		{"UPDATE jobs SET changed_at = 'yesterday' WHERE id = 2", "job 2: parsing time"},
		{"UPDATE jobs SET name = 'other' WHERE id = 2", "job 2: has two names"},
		{"UPDATE jobs SET attempt = 7 WHERE id = 2", "job 2: does not name its last attempt"},
		{"UPDATE jobs SET attempt = 0, state = 'starting' WHERE id = 1", "job 1: is starting without an attempt"},
		{"UPDATE jobs SET state = 'queued' WHERE id = 2", "job 2: holds GPUs but is in no state to"},
		{"UPDATE attempts SET number = 2 WHERE job_id = 2; UPDATE jobs SET attempt = 2 WHERE id = 2; INSERT INTO attempts SELECT 2, 1, gpus, boot_id, '', '', '', '', NULL, 0, 0, '' FROM attempts WHERE job_id = 2",
			"job 2: has an earlier attempt that never ended"},
		{"UPDATE attempts SET gpus = '7' WHERE job_id = 2", "attempt 1 of job 2: json"},
		{"PRAGMA foreign_keys=OFF; INSERT INTO attempts SELECT 77, number, gpus, boot_id, '', '', '', '', NULL, 0, 0, '' FROM attempts WHERE job_id = 2",
			"a row of attempts names a row of jobs that is not there"},
		{"DELETE FROM payloads WHERE job_id = 1", "job 1: has no payload"},
		{"UPDATE payloads SET env = x'41' WHERE job_id = 1", "does not end in NUL"},
		{"UPDATE meta SET value = 3", "job 5: has an id that will be given out again"},
		{"UPDATE gpu_controls SET at = 'x'", "control of GPU \"GPU-0\": parsing time"},
		{"UPDATE usage SET at = 'x'", "usage of account \"u1001\": parsing time"},
		{"UPDATE predictions SET at = 'x'", "prediction \"k\": parsing time"},
		{"UPDATE reservations SET allowed_groups = '['", "reservation 6: unexpected end"},
		{"UPDATE meta SET value = 6 WHERE name = 'next_reservation'", "reservation 6: has an id that will be given out again"},
		{"UPDATE jobs SET life = '[]' WHERE id = 2", "job 2: json"},
		{"UPDATE jobs SET dedup = 'x' WHERE id = 2", "job 2: has two content hashes"},
		{"UPDATE jobs SET mem_bytes = 5 WHERE id = 2", "job 2: asks for two amounts"},
		{"UPDATE jobs SET task_index = 4 WHERE id = 5", "job 5: is two tasks"},
		{"UPDATE jobs SET array_id = 1, life = '{\"task\":{\"array\":1,\"index\":3}}' WHERE id = 5", "job 5: is a task of a job that is no array"},
		{"INSERT INTO payloads SELECT 5, argv, env_mode, env, dir, umask, limits, setup FROM payloads WHERE job_id = 4", "job 5: is a task and has a payload beside its array's"},
		{"DELETE FROM payloads WHERE job_id = 4", "job 4: has no payload"},
		{"UPDATE jobs SET state = 'failed', result = '{\"outcome\":\"failed\"}' WHERE id = 4", "job 5: goes on, and its array has ended"},
		{"UPDATE jobs SET life = '{\"tasks\":{\"next\":1,\"live\":2}}' WHERE id = 4", "job 4: miscounts its live tasks"},
		{"UPDATE jobs SET life = '{\"tasks\":{\"next\":0,\"live\":1}}' WHERE id = 4", "job 4: has more tasks than it counts"},
	} {
		t.Run(c.want, func(t *testing.T) {
			s := openNew(t)
			commit(t, s, job.Record{Job: queuedJob(1), Payload: payload()}, job.Record{Job: runningJob(2), Payload: payload()},
				job.Record{Job: endedJob(3, job.Completed), Payload: payload()}, job.Record{GPU: &job.GPUControl{UUID: "GPU-0"}},
				job.Record{Job: array(4, 1), Payload: payload()}, job.Record{Job: taskOf(runningJob(5), 4, 3)},
				job.Record{Usage: &job.Usage{Account: "u1001"}, Prediction: &job.Prediction{Key: "k"}, Reservation: &job.Reservation{ID: 6}})
			mustCheck(t, s)
			if _, err := s.write.Exec(c.damage); err != nil {
				t.Fatal(err)
			}
			err := s.Check(context.Background())
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("found %v, want %q", err, c.want)
			}
		})
	}
}

// A list that can't be read completely is not returned in part.
func TestDamagedListIsNotReturned(t *testing.T) {
	s, ctx := openNew(t), context.Background()
	commit(t, s, job.Record{Job: runningJob(2), Payload: payload()})
	if _, err := s.write.Exec("INSERT INTO attempts SELECT 2, 7, '7', boot_id, '', '', '', '', NULL, 0, 0, '' FROM attempts"); err != nil {
		t.Fatal(err)
	}
	if list, err := s.Attempts(ctx, 2); err == nil || list != nil {
		t.Errorf("%v, %+v", err, list)
	}
}

// Listings find their jobs by an index, however long the history is, and never read the private
// table (invariant 4).
func TestQueriesUseIndexes(t *testing.T) {
	s := openNew(t)
	for _, c := range []struct{ query, want string }{
		{jobQuery + liveClause, "SCAN j USING INDEX jobs_live"},
		{jobQuery + "WHERE j.result IS NOT NULL ORDER BY j.changed_at DESC, j.id DESC LIMIT 9", "SCAN j USING INDEX jobs_ended"},
		{jobQuery + "WHERE j.result IS NOT NULL AND j.uid = 7 ORDER BY j.changed_at DESC, j.id DESC LIMIT 9", "SEARCH j USING INDEX jobs_ended_of (uid=?)"},
		{taskQuery, "SEARCH jobs USING COVERING INDEX jobs_task (array_id=? AND task_index=?)"},
		{doneQuery, "SCAN jobs USING INDEX jobs_done"},
		{strings.NewReplacer("d.uid", "?", "d.data ->> '$.path'", "?").Replace(keepers), "SEARCH o USING COVERING INDEX directories_of (uid=? AND <expr>=?)"},
		{endsQuery, "SEARCH j USING INTEGER PRIMARY KEY (rowid=?)"},
		{"SELECT id FROM jobs WHERE uid = 7 AND key = 'k' AND key <> ''", "SEARCH jobs USING COVERING INDEX jobs_key (uid=? AND key=?)"},
	} {
		var id, parent, unused int
		var plan string
		if err := s.read.QueryRow("EXPLAIN QUERY PLAN "+c.query, make([]any, strings.Count(c.query, "?"))...).Scan(&id, &parent, &unused, &plan); err != nil || plan != c.want {
			t.Errorf("%s: %q, %v", c.query, plan, err)
		}
	}
}

// The file has an SQL view for people, which is easy to read.
func TestOverview(t *testing.T) {
	s := openNew(t)
	held := queuedJob(1)
	held.Held = "bob"
	commit(t, s, job.Record{Job: held, Payload: payload()}, job.Record{Job: endedJob(2, job.Failed), Payload: payload()},
		job.Record{Job: array(3, 1), Payload: payload()}, job.Record{Job: taskOf(queuedJob(4), 3, 7)})
	var text string
	err := s.read.QueryRow(`SELECT group_concat(concat_ws(' ', id, task, user, name, state, held_by, gpus, started_at, gpu_indexes, exit_code,
		tasks, tasks_begun, tasks_live, tasks_failed), ';' ORDER BY id) FROM overview`).Scan(&text)
	want := "1 alice train queued bob 1.0;2 alice train failed 1.0 2026-03-04T05:06:08.000000080Z 0 0;3 alice train queued 1.0 10 1 1 0;4 3_7 alice train queued 1.0"
	if err != nil || text != want {
		t.Fatalf("%q, want %q, %v", text, want, err)
	}
}
