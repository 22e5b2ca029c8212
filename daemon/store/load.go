package store

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/gpusched/gpusched/daemon/job"
)

// Load returns what the scheduler starts from, in one snapshot.
func (s *Store) Load(ctx context.Context) (State, error) {
	st, err := s.load(ctx)
	if err != nil {
		return State{}, fmt.Errorf("load the state: %w", classify(s.path, err))
	}
	return st, nil
}

func (s *Store) load(ctx context.Context) (st State, err error) {
	tx, err := s.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return st, err
	}
	defer tx.Rollback()
	next, err := readNextID(ctx, tx)
	if err != nil {
		return st, err
	}
	st.NextID = job.ID(next)
	if st.Live, err = jobsIn(ctx, tx, "WHERE result IS NULL ORDER BY id"); err != nil {
		return st, err
	}
	err = each(ctx, tx, "SELECT "+gpuColumns+" FROM gpu_controls ORDER BY uuid", func(rows *sql.Rows) error {
		g, err := scanGPU(rows)
		if err == nil {
			st.GPUs = append(st.GPUs, g)
		}
		return err
	})
	return st, err
}

func scanGPU(rows *sql.Rows) (job.GPUControl, error) {
	var g job.GPUControl
	var at string
	if err := rows.Scan(&g.UUID, &g.Paused, &g.Reason, &g.By, &at); err != nil {
		return g, err
	}
	d := decoder{}
	d.time(&g.At, at)
	return g, d.err
}

func readNextID(ctx context.Context, q interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}) (id int64, err error) {
	err = q.QueryRowContext(ctx, "SELECT value FROM meta WHERE name = 'next_id'").Scan(&id)
	return id, err
}
