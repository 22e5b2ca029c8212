package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"github.com/gpusched/gpusched/daemon/job"
)

// batchRows is how many rows are decoded together.
const batchRows = 500

// jobsIn reads the jobs that the clause selects, with their current attempts.
// The clause names the table of jobs j. It counts first: growing a long list
// would cost a third of the time.
func jobsIn(ctx context.Context, tx *sql.Tx, clause string, args ...any) ([]job.Job, error) {
	var n int
	if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM (SELECT id FROM jobs j "+clause+")", args...).Scan(&n); err != nil {
		return nil, err
	}
	b := newBatches(make([]job.Job, n))
	err := each(ctx, tx, jobQuery+clause, b.add, args...)
	if err = errors.Join(err, b.finish()); err != nil {
		return nil, err
	}
	return b.jobs, fillAttempts(ctx, tx, b.jobs, clause, args...)
}

// fillAttempts completes the attempts of which only the numbers are known; the clause selects
// all of the jobs. Most jobs of a long list have none: a join would cost them a third of the time.
func fillAttempts(ctx context.Context, tx *sql.Tx, jobs []job.Job, clause string, args ...any) error {
	open := map[job.ID]*job.Job{}
	for i := range jobs {
		if jobs[i].Attempt != nil {
			open[jobs[i].ID] = &jobs[i]
		}
	}
	if len(open) == 0 {
		return nil
	}
	query := "SELECT " + attemptColumns + " FROM (SELECT j.id, j.attempt FROM jobs j " + clause + ") p CROSS JOIN attempts a ON a.job_id = p.id AND a.number = p.attempt"
	err := each(ctx, tx, query, func(rows *sql.Rows) error {
		a, err := scanAttempt(rows)
		if err != nil {
			return err
		}
		if j := open[a.job]; j != nil { // the clause may select more jobs
			j.Attempt = &a.Attempt
			delete(open, a.job)
		}
		return nil
	}, args...)
	if err != nil {
		return err
	}
	for id, j := range open {
		return fmt.Errorf("job %d: its attempt %d is not there", id, j.Attempt.Number)
	}
	return nil
}

// batches fills a list of jobs. Its caller reads rows; goroutines that finish
// waits for turn what was read into values, as many as there are processors.
type batches struct {
	jobs  []job.Job
	read  int       // how many of jobs have been read
	texts []jobText // of those that are not decoded yet
	slots chan struct{}

	group sync.WaitGroup
	mu    sync.Mutex
	err   error // the first one
}

func newBatches(jobs []job.Job) *batches {
	return &batches{jobs: jobs, slots: make(chan struct{}, runtime.GOMAXPROCS(0))}
}

// add reads one row.
func (b *batches) add(rows *sql.Rows) error {
	if b.texts == nil {
		b.texts = make([]jobText, 0, min(batchRows, len(b.jobs)-b.read))
	}
	b.texts = append(b.texts, jobText{})
	last := len(b.texts) - 1
	if err := b.texts[last].scan(rows, &b.jobs[b.read]); err != nil {
		b.texts = b.texts[:last]
		return err
	}
	b.read++
	if len(b.texts) == batchRows {
		b.hand()
	}
	return nil
}

// hand gives the batch to a goroutine, once there is a processor for it.
func (b *batches) hand() {
	texts, jobs := b.texts, b.jobs[b.read-len(b.texts):b.read]
	b.texts = nil
	b.slots <- struct{}{}
	b.group.Go(func() {
		b.decode(texts, jobs)
		<-b.slots
	})
}

func (b *batches) decode(texts []jobText, jobs []job.Job) {
	for i := range texts {
		if err := texts[i].decode(&jobs[i]); err != nil {
			b.mu.Lock()
			defer b.mu.Unlock()
			if b.err == nil {
				b.err = err
			}
			return
		}
	}
}

// finish decodes what is left and returns when every row is a job.
func (b *batches) finish() error {
	b.decode(b.texts, b.jobs[b.read-len(b.texts):b.read])
	b.group.Wait()
	return b.err
}
