package daemon

import (
	"context"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/words"
)

// How long a note may wait until it is written, since notes to other jobs may go first. A farewell
// is a note before a stop. A farewell has a short limit, because the stop waits for it.
const (
	tellTime     = 5 * time.Minute
	farewellTime = 3 * time.Second
)

// notifyOwner writes a note into a job's journal and into the journal of the daemon. If that fails,
// 'gpusched show' still has the note.
func (x *executor) notifyOwner(ctx context.Context, t core.NotifyOwner, patience time.Duration) {
	if len(t.Say) == 0 {
		return
	}
	text := strings.Join(job.Each(t.Say, words.Say), "\n")
	x.log.Warn("telling a job's owner", "job", t.Job, "uid", t.UID, "text", text)
	if x.opt.Tell == nil {
		return
	}
	waits, cancel := x.host.Timeout(ctx, patience)
	defer cancel()
	defer x.helpers.enter(t.Job)()
	if err := x.opt.Tell(waits, t.Job, t.UID, text); err != nil && ctx.Err() == nil {
		x.log.Warn("putting a note into a job's journal", "job", t.Job, "err", err)
	}
}
