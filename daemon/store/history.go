package store

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// History limits what is kept of ended jobs.
type History struct {
	UserBytes int64         // size of one person's jobs, roughly; 0: no limit
	Age       time.Duration // time since a job's end; 0: no limit
}

const (
	keepAttempts  = 100 // maximum per job, because its user may requeue it without end
	olderAttempts = "DELETE FROM attempts WHERE job_id = ? AND number <= ?"

	forgetAtOnce = 200 // jobs per transaction, because other transactions wait for it
	forgetSpare  = 10  // percent of the limit that one call of Forget frees, so that not every end causes a call
)

// pastSize computes in SQL the number of bytes that an ended job takes, including its indexes.
// pastBytes estimates that number for a job that ends now. The estimate may be too high.
const pastSize = "1024 + 400 * max(j.attempt, 1) + octet_length(j.label) + octet_length(j.request) + octet_length(j.life) + " +
	"coalesce((SELECT sum(octet_length(a.gpus)) FROM attempts a WHERE a.job_id = j.id), 0) + " +
	"coalesce((SELECT octet_length(p.argv) + octet_length(p.dir) + octet_length(p.setup) FROM payloads p WHERE p.job_id = j.id), 0)"

func pastBytes(j *job.Job) int64 {
	n := 2048 + min(j.Bytes, 12<<10) + j.Weight() - j.Bytes
	if a := j.Attempt; a != nil {
		n += int64(min(a.Number, keepAttempts)) * int64(400+gpuBytes*len(a.GPUs))
	}
	return n
}

// gpuBytes is the size of an attempt's record of one GPU.
const gpuBytes = 700

// historyUse is the approximate size of one person's ended jobs, and the uids under which they ran.
type historyUse struct {
	bytes int64
	uids  map[int]bool
}

// historyUses has an entry for each person with ended jobs. It is nil before the first count.
type historyUses map[int]*historyUse

func (p historyUses) add(person, uid int, bytes int64) {
	if p == nil {
		return
	}
	if p[person] == nil {
		p[person] = &historyUse{uids: map[int]bool{}}
	}
	p[person].bytes += bytes
	p[person].uids[uid] = true
}

// Forget removes ended jobs beyond the limits of h, oldest first, and everything else that is no
// longer needed. Forget and Commit wait for each other. Forget stops early when ctx is done. It
// returns the number of jobs that it removed.
func (s *Store) Forget(ctx context.Context, h History, now time.Time) (int, error) {
	n, err := s.forget(ctx, h, now)
	if err != nil {
		return n, fmt.Errorf("forget old jobs: %w", classify(s.path, err))
	}
	return n, nil
}

func (s *Store) forget(ctx context.Context, h History, now time.Time) (n int, err error) {
	if err := s.countPasts(ctx); err != nil {
		return 0, err
	}
	err = s.withWriter(func() error {
		if err := s.checkWritable(); err != nil { // a read-only disk may lose writes, see Commit
			return err
		}
		return prune(ctx, s.write, now, keepPredictions)
	})
	if err != nil {
		return 0, err
	}
	if h.Age > 0 {
		if n, err = s.expire(ctx, now.Add(-h.Age)); err != nil {
			return n, err
		}
	}
	for _, person := range s.personsAbove(h.UserBytes) {
		m, err := s.trimHistory(ctx, person, h.UserBytes)
		if n += m; err != nil {
			return n, err
		}
	}
	return n, nil
}

// withWriter calls f while no Commit runs.
func (s *Store) withWriter(f func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return f()
}

// countPasts adds up the sizes of all persons' ended jobs, once. Jobs that end meanwhile may be
// counted or not, which makes little difference.
func (s *Store) countPasts(ctx context.Context) error {
	known := false
	_ = s.withWriter(func() error { known = s.past != nil; return nil })
	if known {
		return nil
	}
	counted := historyUses{}
	query := "SELECT coalesce(json_extract(j.life, '$.principal.uid'), j.uid), j.uid, sum(" + pastSize + ") FROM jobs j WHERE j.result IS NOT NULL GROUP BY 1, 2"
	err := eachRow(ctx, s.read, query, func(rows *sql.Rows) error {
		var person, uid int
		var bytes int64
		err := rows.Scan(&person, &uid, &bytes)
		counted.add(person, uid, bytes)
		return err
	})
	if err != nil {
		return err
	}
	return s.withWriter(func() error { s.past = counted; return nil })
}

// personsAbove returns the persons whose ended jobs exceed the limit.
func (s *Store) personsAbove(most int64) (persons []int) {
	_ = s.withWriter(func() error {
		for person, p := range s.past {
			if most > 0 && p.bytes > most {
				persons = append(persons, person)
			}
		}
		return nil
	})
	slices.Sort(persons)
	return persons
}

// expiredJobs selects the jobs that ended before a given time. It leaves out tasks of an array that
// has not ended, because a task counts as old as its array. The limit per person does count such
// tasks.
const expiredJobs = "SELECT j.id FROM jobs j WHERE j.result IS NOT NULL AND j.changed_at < ?" +
	" AND NOT EXISTS (SELECT 1 FROM jobs a WHERE a.id = j.array_id AND a.result IS NULL) ORDER BY j.changed_at, j.id"

// expire removes the jobs that ended before the given time.
func (s *Store) expire(ctx context.Context, before time.Time) (int, error) {
	var ids []int64
	err := eachRow(ctx, s.read, expiredJobs, func(rows *sql.Rows) error {
		var id int64
		err := rows.Scan(&id)
		ids = append(ids, id)
		return err
	}, formatTime(before))
	if err != nil {
		return 0, err
	}
	return s.remove(ctx, ids)
}

// pastOf selects the ended jobs of a person, newest first, with their sizes.
const pastOf = "SELECT j.id, " + pastSize + " FROM jobs j WHERE j.result IS NOT NULL AND j.uid IN (SELECT value FROM json_each(?))" +
	" AND coalesce(json_extract(j.life, '$.principal.uid'), j.uid) = ? ORDER BY j.changed_at DESC, j.id DESC"

// trimHistory removes a person's oldest ended jobs until the remaining jobs take less than the
// limit.
func (s *Store) trimHistory(ctx context.Context, person int, most int64) (int, error) {
	var uids []int
	_ = s.withWriter(func() error { uids = slices.Sorted(maps.Keys(s.past[person].uids)); return nil })
	var ids []int64
	kept, room := int64(0), most-most*forgetSpare/100
	err := eachRow(ctx, s.read, pastOf, func(rows *sql.Rows) error {
		var id, size int64
		err := rows.Scan(&id, &size)
		if len(ids) > 0 || kept+size > room {
			ids = append(ids, id)
		} else {
			kept += size
		}
		return err
	}, listOf(uids), person)
	if err != nil {
		return 0, err
	}
	slices.Reverse(ids)
	n, err := s.remove(ctx, ids)
	if err == nil {
		_ = s.withWriter(func() error { s.past[person].bytes = kept; return nil })
	}
	return n, err
}

// remove deletes ended jobs in the given order. With an array it also deletes the remaining ended
// jobs of the array's tasks. It keeps jobs that have not ended, even if their array has ended.
func (s *Store) remove(ctx context.Context, ids []int64) (n int, err error) {
	for some := range slices.Chunk(ids, forgetAtOnce) {
		if ctx.Err() != nil {
			break
		}
		err := s.withWriter(func() error {
			removed, err := s.removeJobs(ctx, some)
			n += removed
			return err
		})
		if err != nil {
			return n, err
		}
	}
	return n, ctx.Err()
}

// removableJobs selects, from a list of ids, the ended jobs that have no tasks, or whose tasks have
// all ended. An array with live tasks must stay, because a task whose array is gone could never be
// written again.
const removableJobs = "(SELECT j.id FROM json_each(?1) JOIN jobs j ON j.id = value WHERE j.result IS NOT NULL" +
	" AND NOT EXISTS (SELECT 1 FROM jobs t WHERE t.array_id = j.id AND t.result IS NULL))"

// removeJobs deletes these jobs in one transaction, and returns the number of deleted jobs.
func (s *Store) removeJobs(ctx context.Context, ids []int64) (int, error) {
	if err := s.checkWritable(); err != nil { // a read-only disk may lose writes, see Commit
		return 0, err
	}
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback()
	list := listOf(ids)
	removed := int64(0)
	for _, query := range []string{
		"DELETE FROM attempts WHERE job_id IN " + removableJobs + " OR job_id IN (SELECT id FROM jobs WHERE array_id IN " + removableJobs + ")",
		"DELETE FROM payloads WHERE job_id IN " + removableJobs,
		"DELETE FROM jobs WHERE array_id IN " + removableJobs,
		"DELETE FROM jobs WHERE id IN " + removableJobs,
	} {
		result, err := tx.ExecContext(ctx, query, list)
		if err != nil {
			return 0, err
		}
		if strings.HasPrefix(query, "DELETE FROM jobs") {
			rows, _ := result.RowsAffected()
			removed += rows
		}
	}
	s.dirty += 4 * len(ids)
	return int(removed), tx.Commit()
}
