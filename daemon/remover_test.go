package daemon

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// directoryStore is a store with one directory.
type directoryStore struct {
	Store
	dir job.Directory
}

func (s *directoryStore) Directories(context.Context, int) ([]job.Directory, error) {
	if s.dir.Gone {
		return nil, nil
	}
	return []job.Directory{s.dir}, nil
}

func (s *directoryStore) Commit(_ context.Context, records []job.Record) error {
	for _, r := range records {
		if r.Directory != nil {
			s.dir = *r.Directory
		}
	}
	return nil
}

// A directory is removed at its time. If that fails, it is tried again later and later, and at last
// given up.
func TestRemover(t *testing.T) {
	for _, works := range []int{1, 3, 1000} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			s := &directoryStore{dir: job.Directory{Job: 7, Attempt: 1, UID: 1001, Path: "/scratch/u1001/7.1", Due: start.Add(90 * time.Minute)}}
			var at []time.Duration
			d := assemble(Options{Log: slog.New(slog.DiscardHandler), Store: s, Remove: func(context.Context, *job.Directory) error {
				if at = append(at, time.Since(start)); len(at) < works {
					return errors.New("busy")
				}
				return nil
			}})
			d.events = newAnnouncer(d.host, &job.Restored{}, start)
			ctx, stop := context.WithCancel(t.Context())
			go d.commit.run(ctx)
			go d.remover.run(ctx)
			time.Sleep(30 * 24 * time.Hour)
			stop()
			close(d.inbox.done)
			synctest.Wait()
			if n := min(works, removalFailures); len(at) != n || !s.dir.Gone || at[0] != 90*time.Minute {
				t.Fatalf("tried at %v, gone %t", at, s.dir.Gone)
			}
			if works == 3 && (at[1] != 91*time.Minute || at[2] != 93*time.Minute) {
				t.Errorf("tried at %v", at)
			}
		})
	}
}
