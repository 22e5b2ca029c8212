package store

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/gpusched/gpusched/daemon/job"
)

// runOfJob has the columns of a run that come from its job.
const runOfJob = "j.id, j.uid, j.gid, j.user, j.owner_groups, j.name, j.label, j.class, j.gpu_mem_bytes, j.mem_bytes, j.cpus, j.time_limit_ns"

// runOfAttempt selects runs with an attempt. Only the result of a job's last attempt counts as the
// end of the job.
const runOfAttempt = "SELECT " + runOfJob + ", iif(j.result IS NOT NULL AND j.attempt = a.number, j.state, '')," +
	" a.number, a.gpus, a.placed_at, a.started_at, a.ended_at, a.eligible_at, a.peak_mem_bytes, a.cpu_time_ns" +
	" FROM attempts a CROSS JOIN jobs j ON j.id = a.job_id"

// endedRuns selects the runs that ended at ?1 or later, in order of their ends: attempts, and jobs
// without an attempt. It leaves out arrays, which run nothing. openRuns selects the attempts that
// have not ended.
const (
	endedRuns = runOfAttempt + " WHERE a.ended_at >= ?1 AND coalesce(j.uid = ?2, 1) UNION ALL SELECT " + runOfJob +
		", j.state, 0, '[]', '', '', j.changed_at, '', 0, 0 FROM jobs j WHERE j.result IS NOT NULL AND j.changed_at >= ?1 AND" +
		" coalesce(j.uid = ?2, 1) AND j.attempt = 0 AND iif(json_valid(j.request), json_extract(j.request, '$.array'), NULL) IS NULL ORDER BY 18, 1, 14"
	openRuns = runOfAttempt + " WHERE a.ended_at = '' AND coalesce(j.uid = ?, 1) AND j.result IS NULL ORDER BY 1, 14"
)

// someTime sorts before every stored time.
const someTime = "0"

// Runs calls f for every attempt on record that ran at q.From or later. It also calls f for every
// job that has ended since q.From without an attempt, except for arrays, which run nothing. The
// calls are in the order of the ends. The attempts that still run come last. Runs reads one
// snapshot, and stops at the first error. A run is valid until f returns.
func (s *Store) Runs(ctx context.Context, q job.RunQuery, f func(*job.Run) error) error {
	tx, end, err := s.longRead(ctx)
	if err != nil {
		return fmt.Errorf("read what ran: %w", s.readError(err))
	}
	defer end()
	var stopped error // the error of f
	row := func(rows *sql.Rows) error {
		run, err := scanRun(rows, q.Tags)
		if err != nil || !q.Wants(&run.Owner) {
			return err
		}
		stopped = f(&run)
		return stopped
	}
	var uid any
	if q.UID != nil {
		uid = *q.UID
	}
	if err = eachRow(ctx, tx, endedRuns, row, max(formatTime(q.From), someTime), uid); err == nil {
		err = eachRow(ctx, tx, openRuns, row, uid)
	}
	if err != nil && stopped == nil {
		return fmt.Errorf("read what ran: %w", s.readError(err))
	}
	return err
}

// scanRun reads one row of endedRuns or openRuns. It decodes tags only if they are wanted.
func scanRun(rows *sql.Rows, tags bool) (r job.Run, err error) {
	var groups, label, class, gpus, placed, started, ended, eligible string
	a := &r.Attempt
	err = rows.Scan(&r.Job, &r.Owner.UID, &r.Owner.GID, &r.Owner.User, &groups, &r.Name, &label, &class, &r.GPUMem, &r.Mem,
		&r.CPUs, &r.Limit, &r.End, &a.Number, &gpus, &placed, &started, &ended, &eligible, &a.PeakMemBytes, &a.CPUTime)
	if err != nil {
		return r, err
	}
	d := decoder{}
	var p job.Priority
	d.err = p.UnmarshalText([]byte(class))
	r.Class = p.Class
	d.list(&r.Owner.Groups, groups)
	d.list(&a.GPUs, gpus)
	d.time(&a.PlacedAt, placed)
	d.time(&a.StartedAt, started)
	d.time(&a.EndedAt, ended)
	d.time(&a.EligibleAt, eligible)
	if tags {
		var l job.Label
		d.json(&l, label)
		r.Tags = l.Tags
	}
	return r, d.errorAbout("job %d", r.Job)
}
