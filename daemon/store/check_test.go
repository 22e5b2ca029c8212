package store

import (
	"context"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/daemon/job"
)

// Check finds every broken invariant (invariants 3, 4, 7).
func TestCheckFinds(t *testing.T) {
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
		{"UPDATE attempts SET number = 2 WHERE job_id = 2; UPDATE jobs SET attempt = 2 WHERE id = 2; INSERT INTO attempts SELECT 2, 1, gpus, boot_id, '', '', '', '', NULL, 0, 0 FROM attempts WHERE job_id = 2",
			"job 2: has an earlier attempt that never ended"},
		{"UPDATE attempts SET gpus = '7' WHERE job_id = 2", "attempt 1 of job 2: json"},
		{"PRAGMA foreign_keys=OFF; INSERT INTO attempts SELECT 77, number, gpus, boot_id, '', '', '', '', NULL, 0, 0 FROM attempts WHERE job_id = 2",
			"a row of attempts names a row of jobs that is not there"},
		{"DELETE FROM payloads WHERE job_id = 1", "job 1: has no payload"},
		{"UPDATE payloads SET env = x'41' WHERE job_id = 1", "does not end in NUL"},
		{"UPDATE meta SET value = 3", "job 3: has an id that will be given out again"},
		{"UPDATE gpu_controls SET at = 'x'", "parsing time"},
	} {
		t.Run(c.want, func(t *testing.T) {
			s := openNew(t)
			commit(t, s, Record{Job: queued(1), Payload: payload()}, Record{Job: running(2), Payload: payload()},
				Record{Job: ended(3, job.Completed), Payload: payload()}, Record{GPU: &job.GPUControl{UUID: "GPU-0"}})
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

// Listings find their jobs by an index, however long the history is, and never
// touch the private table (invariant 4).
func TestQueriesUseIndexes(t *testing.T) {
	s := openNew(t)
	for _, c := range []struct{ query, want string }{
		{"SELECT " + jobColumns + " FROM jobs WHERE result IS NULL ORDER BY id", "SCAN jobs USING INDEX jobs_live"},
		{"SELECT " + jobColumns + " FROM jobs WHERE result IS NOT NULL ORDER BY changed_at DESC, id DESC LIMIT 9", "SCAN jobs USING INDEX jobs_ended"},
		{"SELECT " + jobColumns + " FROM jobs WHERE result IS NOT NULL AND uid = 7 ORDER BY changed_at DESC, id DESC LIMIT 9", "SEARCH jobs USING INDEX jobs_ended_of (uid=?)"},
		{"SELECT id FROM jobs WHERE uid = 7 AND key = 'k' AND key <> ''", "SEARCH jobs USING COVERING INDEX jobs_key (uid=? AND key=?)"},
	} {
		var id, parent, unused int
		var plan string
		if err := s.read.QueryRow("EXPLAIN QUERY PLAN "+c.query).Scan(&id, &parent, &unused, &plan); err != nil || plan != c.want {
			t.Errorf("%s: %q, %v", c.query, plan, err)
		}
	}
}

// The view for people is there and reads well.
func TestOverview(t *testing.T) {
	s := openNew(t)
	commit(t, s, Record{Job: queued(1), Payload: payload()}, Record{Job: ended(2, job.Failed), Payload: payload()})
	var text string
	err := s.read.QueryRow("SELECT group_concat(concat_ws(' ', id, user, name, state, gpus, started_at, gpu_indexes, exit_code), ';' ORDER BY id) FROM overview").Scan(&text)
	want := "1 alice train queued 1.0;2 alice train failed 1.0 2026-03-04T05:06:08.000000080Z 0 0"
	if err != nil || text != want {
		t.Fatalf("%q, want %q, %v", text, want, err)
	}
}
