package daemon

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
)

// The core gets one event for each change. If logind does not answer, nothing changes.
func TestScheduledEnds(t *testing.T) {
	inbox := newInbox(machine{})
	var end job.Shutdown
	var fail error
	s := &shutdown{host: machine{}, inbox: inbox, log: slog.New(slog.DiscardHandler)}
	s.poll(t.Context()) // there is no logind to ask
	s.scheduled = func(context.Context) (job.Shutdown, error) { return end, fail }
	told := func() (list []job.Shutdown) {
		s.poll(t.Context())
		for m, ok := inbox.take(); ok; m, ok = inbox.take() {
			list = append(list, m.event.(core.Planned).End)
		}
		return list
	}
	at := time.Now().Add(time.Hour)
	for i, c := range []struct {
		end  job.Shutdown
		fail error
		told int
	}{
		{told: 0},
		{end: job.Shutdown{At: at, How: "reboot"}, told: 1},
		{end: job.Shutdown{At: at, How: "reboot"}, told: 0},
		{fail: errors.New("no logind"), told: 0},
		{end: job.Shutdown{At: at.Add(time.Minute), How: "reboot"}, told: 1},
		{end: job.Shutdown{At: at.Add(time.Minute), How: "poweroff"}, told: 1},
		{told: 1},
	} {
		end, fail = c.end, c.fail
		if list := told(); len(list) != c.told || c.told == 1 && list[0] != c.end {
			t.Errorf("look %d: told %+v", i, list)
		}
	}
}
