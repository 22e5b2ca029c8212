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

// History says what is kept of jobs that have ended.
type History struct {
	UserBytes int64         // of one person's, roughly; 0: no bound
	Age       time.Duration // since the end; 0: no bound
}

const (
	keepAttempts  = 100 // of one job, whose user may have it requeued without end
	olderAttempts = "DELETE FROM attempts WHERE job_id = ? AND number <= ?"

	forgetAtOnce = 200 // jobs in one transaction, for which others wait
	forgetSpare  = 10  // percent of the bound that is made free, so that it is not at each end
)

// pastSize is what a job that has ended takes, with its indexes, in the words of
// SQL, and pastBytes, which may be more, the same of one that ends now.
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

// gpuBytes is what a GPU of an attempt takes.
const gpuBytes = 700

// historyUse is what one person's ended jobs take, roughly, and under which uids.
type historyUse struct {
	bytes int64
	uids  map[int]bool
}

// historyUses has the persons with ended jobs; nil: they have not been counted yet.
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

// Forget removes ended jobs, the oldest first, as h says, and what else is
// not needed any more. It takes turns with Commit, and stops early when ctx is
// done. It returns how many jobs it removed.
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
		if err := s.writable(); err != nil { // see Commit
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
	for _, person := range s.above(h.UserBytes) {
		m, err := s.trimHistory(ctx, person, h.UserBytes)
		if n += m; err != nil {
			return n, err
		}
	}
	return n, nil
}

// withWriter keeps Commit waiting.
func (s *Store) withWriter(f func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return f()
}

// countPasts reads, once, what everybody's ended jobs take. What ends meanwhile
// may be counted or not: it is small.
func (s *Store) countPasts(ctx context.Context) error {
	known := false
	_ = s.withWriter(func() error { known = s.past != nil; return nil })
	if known {
		return nil
	}
	counted := historyUses{}
	query := "SELECT coalesce(json_extract(j.life, '$.principal.uid'), j.uid), j.uid, sum(" + pastSize + ") FROM jobs j WHERE j.result IS NOT NULL GROUP BY 1, 2"
	err := each(ctx, s.read, query, func(rows *sql.Rows) error {
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

// above returns the persons whose ended jobs take more than the bound.
func (s *Store) above(most int64) (persons []int) {
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

// expired lists the jobs that ended before a moment, but no task of an array that
// goes on: they are as old as that. The bound of a person counts them.
const expired = "SELECT j.id FROM jobs j WHERE j.result IS NOT NULL AND j.changed_at < ?" +
	" AND NOT EXISTS (SELECT 1 FROM jobs a WHERE a.id = j.array_id AND a.result IS NULL) ORDER BY j.changed_at, j.id"

// expire removes the jobs that ended before a moment.
func (s *Store) expire(ctx context.Context, before time.Time) (int, error) {
	var ids []int64
	err := each(ctx, s.read, expired, func(rows *sql.Rows) error {
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

// pastOf lists the ended jobs of a person, newest first, with their sizes.
const pastOf = "SELECT j.id, " + pastSize + " FROM jobs j WHERE j.result IS NOT NULL AND j.uid IN (SELECT value FROM json_each(?))" +
	" AND coalesce(json_extract(j.life, '$.principal.uid'), j.uid) = ? ORDER BY j.changed_at DESC, j.id DESC"

// trimHistory removes a person's oldest ended jobs until the others take less than
// the bound.
func (s *Store) trimHistory(ctx context.Context, person int, most int64) (int, error) {
	var uids []int
	_ = s.withWriter(func() error { uids = slices.Sorted(maps.Keys(s.past[person].uids)); return nil })
	var ids []int64
	kept, room := int64(0), most-most*forgetSpare/100
	err := each(ctx, s.read, pastOf, func(rows *sql.Rows) error {
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

// remove deletes ended jobs in the order given, and with an array what is left
// of its tasks. A job that has not ended stays, whatever its array says.
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

// removable selects, of a list of ids, the jobs that have ended and have no task
// that has not: a row whose parent is gone could never be written again.
const removable = "(SELECT j.id FROM json_each(?1) JOIN jobs j ON j.id = value WHERE j.result IS NOT NULL" +
	" AND NOT EXISTS (SELECT 1 FROM jobs t WHERE t.array_id = j.id AND t.result IS NULL))"

// removeJobs deletes these jobs in one transaction, and returns how many of them.
func (s *Store) removeJobs(ctx context.Context, ids []int64) (int, error) {
	if err := s.writable(); err != nil { // see Commit
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
		"DELETE FROM attempts WHERE job_id IN " + removable + " OR job_id IN (SELECT id FROM jobs WHERE array_id IN " + removable + ")",
		"DELETE FROM payloads WHERE job_id IN " + removable,
		"DELETE FROM jobs WHERE array_id IN " + removable,
		"DELETE FROM jobs WHERE id IN " + removable,
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
