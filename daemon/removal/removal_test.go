package removal

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// bell wakes its one waiter.
type bell chan struct{}

func (b bell) Ring() { b <- struct{}{} }

func (b bell) Wait(until time.Time, stops ...<-chan struct{}) {
	select {
	case <-b:
	case <-stops[0]:
	case <-time.After(time.Until(until)):
	}
}

// A directory is removed at its time. If that fails, it is tried again later and later, and at last
// given up.
func TestRemover(t *testing.T) {
	for _, works := range []int{1, 3, 1000} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			list := []job.Directory{{Job: 7, Attempt: 1, UID: 1001, Path: "/scratch/u1001/7.1", Due: start.Add(90 * time.Minute)}}
			var at []time.Duration
			r := &Remover{Log: slog.New(slog.DiscardHandler), Now: time.Now, Go: func(f func()) { go f() }, Bell: make(bell, 1),
				Read: func(context.Context, int) ([]job.Directory, error) { return list, nil },
			}
			r.Remove = func(context.Context, *job.Directory) error {
				if at = append(at, time.Since(start)); len(at) < works {
					return errors.New("busy")
				}
				return nil
			}
			r.Record = func(d *job.Directory) {
				if list = []job.Directory{*d}; d.Gone {
					list = nil
				}
				time.AfterFunc(time.Second, r.Bell.Ring)
			}
			ctx, stop := context.WithCancel(t.Context())
			go r.Run(ctx)
			time.Sleep(30 * 24 * time.Hour)
			stop()
			synctest.Wait()
			if n := min(works, mostFailures); len(at) != n || list != nil || at[0] != 90*time.Minute {
				t.Fatalf("tried at %v, left %v", at, list)
			}
			if last := at[len(at)-1]; works == 1000 && last.Round(24*time.Hour) != 5*24*time.Hour { // as gpusched-admin(7) says
				t.Errorf("tried for %v, want five days", last)
			}
			if works == 3 && (at[1] != 91*time.Minute || at[2] != 93*time.Minute) {
				t.Errorf("tried at %v", at)
			}
		})
	}
}
