package daemon

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"
)

// Old jobs are removed a minute after the start and then every hour. After many jobs have ended,
// they are removed sooner. If a removal fails, a later one tries again.
func TestForgetsFromTimeToTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var at []time.Duration
		start := time.Now()
		d := assemble(Options{Log: slog.New(slog.DiscardHandler), Forget: func(context.Context) (int, error) {
			at = append(at, time.Since(start))
			return 1, errors.New("disk full")
		}})
		f := newHistoryPruner(d)
		ctx, stop := context.WithCancel(t.Context())
		go f.run(ctx)
		time.Sleep(90 * time.Minute)
		for range 3 * pruneAfter {
			f.add()
			synctest.Wait()
		}
		time.Sleep(30 * time.Minute)
		stop()
		synctest.Wait()
		want := []time.Duration{time.Minute, 61 * time.Minute, 90 * time.Minute, 90 * time.Minute, 90 * time.Minute}
		if len(at) != len(want) {
			t.Fatalf("at %v", at)
		}
		for i := range at {
			if at[i] != want[i] {
				t.Errorf("at %v, not at %v", at[i], want[i])
			}
		}
	})
}
