package store

import (
	"database/sql"
	"fmt"

	"github.com/gpusched/gpusched/daemon/job"
)

// A relation is an invariant between rows: a query for the ids of the rows that violate it, and the
// message about each of these rows.
type relation struct{ query, message string }

// notLive selects jobs in states in which a job has no unit.
var notLive = fmt.Sprintf("state NOT IN ('%s', '%s', '%s')", job.Starting, job.Running, job.Ending)

var relations = []relation{
	{"SELECT id FROM jobs WHERE array_id IS NULL AND id NOT IN (SELECT job_id FROM payloads)", "job %d: has no payload"},
	{"SELECT id FROM jobs WHERE array_id IS NOT NULL AND id IN (SELECT job_id FROM payloads)", "job %d: is a task and has a payload beside its array's"},
	{"SELECT id FROM jobs WHERE attempt <> (SELECT coalesce(max(number), 0) FROM attempts WHERE job_id = id)", "job %d: does not name its last attempt as the current one"},
	{"SELECT id FROM jobs WHERE name <> json_extract(label, '$.name')", "job %d: has two names"},
	{"SELECT id FROM jobs WHERE dedup <> coalesce(json_extract(request, '$.dedup'), '')", "job %d: has two content hashes"},
	{"SELECT id FROM jobs WHERE array_id IS NOT json_extract(life, '$.task.array') OR task_index IS NOT json_extract(life, '$.task.index')", "job %d: is two tasks"},
	{"SELECT t.id FROM jobs t JOIN jobs a ON a.id = t.array_id WHERE t.result IS NULL AND a.result IS NOT NULL", "job %d: goes on, and its array has ended"},
	{"SELECT t.id FROM jobs t JOIN jobs a ON a.id = t.array_id WHERE a.array_id IS NOT NULL OR json_extract(a.request, '$.array') IS NULL", "job %d: is a task of a job that is no array"},
	{"SELECT id FROM jobs j WHERE json_extract(life, '$.tasks.live') <> (SELECT count(*) FROM jobs t WHERE t.array_id = j.id AND t.result IS NULL)", "job %d: miscounts its live tasks"},
	{"SELECT id FROM jobs j WHERE json_extract(life, '$.tasks.next') < (SELECT count(*) FROM jobs t WHERE t.array_id = j.id)", "job %d: has more tasks than it counts"},
	{"SELECT DISTINCT job_id FROM attempts JOIN jobs ON id = job_id WHERE ended_at = '' AND number < attempt", "job %d: has an earlier attempt that never ended"},
	{"SELECT id FROM jobs JOIN attempts ON job_id = id AND number = attempt WHERE ended_at = '' AND " + notLive, "job %d: holds GPUs but is in no state to"},
	{"SELECT id FROM jobs WHERE (gpu_milli, gpu_mem_bytes, mem_bytes, cpus) IS NOT (SELECT coalesce(json_extract(request, '$.gpu_milli'), 0), coalesce(json_extract(request, '$.gpu_mem_bytes'), 0), coalesce(json_extract(request, '$.mem_bytes'), 0), coalesce(json_extract(request, '$.cpus'), 0))", "job %d: asks for two amounts"},
	{"SELECT max(id) FROM jobs HAVING max(id) >= (SELECT value FROM meta WHERE name = 'next_id')", "job %d: has an id that will be given out again"},
	{"SELECT max(id) FROM reservations HAVING max(id) >= (SELECT value FROM meta WHERE name = 'next_reservation')", "reservation %d: has an id that will be given out again"},
}

func (c *checker) relations() {
	for _, r := range relations {
		c.eachRow(r.query, func(rows *sql.Rows) error {
			var id int64
			if err := rows.Scan(&id); err != nil {
				return err
			}
			return fmt.Errorf(r.message, id)
		})
	}
}
