package daemon

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/units"
)

// deafUnits never answer.
type deafUnits struct{ Units }

func (deafUnits) Status(ctx context.Context, _ string) (units.Status, error) {
	<-ctx.Done()
	return units.Status{}, ctx.Err()
}

func (deafUnits) Stop(ctx context.Context, _ string) error {
	<-ctx.Done()
	return ctx.Err()
}

// A stop has as long as the job's grace, however long the site lets that be, so
// that the SIGKILL after it is sent; a bus that never answers costs little more.
func TestStopHasItsGrace(t *testing.T) {
	for _, grace := range []time.Duration{0, time.Minute, 20 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			d := &Daemon{host: machine{}, log: slog.New(slog.DiscardHandler), opt: Options{Units: deafUnits{}}}
			begin := time.Now()
			ev := d.stop(t.Context(), core.Stop{Job: 1, Attempt: 1, Grace: grace})
			if took := time.Since(begin); took < grace+time.Minute || took > grace+5*time.Minute || ev.(core.Stopped).OK {
				t.Errorf("with a grace of %s: %+v after %s", grace, ev, took)
			}
		})
	}
}
