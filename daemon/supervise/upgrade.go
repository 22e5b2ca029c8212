package supervise

import (
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/gpusched/gpusched/daemon/store"
)

// manager is the service manager, which waits for the daemon's start so long and no longer.
type manager interface {
	Extend(by time.Duration, text string)
}

// How much more time the service manager is asked for while the schema changes, how often,
// and for how long at the most: a disk that hangs is the manager's to judge in the end.
const (
	extendBy    = time.Minute
	extendEvery = 10 * time.Second
	extendMost  = 2 * time.Hour
)

// upgrade reports how far a state file is on its way to the schema of this release, and has the
// service manager wait meanwhile: with a long history that takes longer than a start may.
type upgrade struct {
	path    string
	log     *slog.Logger
	manager manager // nil: none

	began       time.Time
	first, last int          // schemas
	at          atomic.Int64 // the schema that is being left
	stop, ended chan struct{}
}

// step is told which schema is left now.
func (u *upgrade) step(from, last int) {
	u.at.Store(int64(from))
	if !u.began.IsZero() {
		return
	}
	u.began, u.first, u.last = time.Now(), from, last
	u.log.Info("the state file is brought to the schema of this release; a copy stays beside it",
		"from", from, "to", last, "copy", store.BackupPath(u.path, from))
	if u.manager != nil {
		u.stop, u.ended = make(chan struct{}), make(chan struct{})
		go u.extend() // ends with end
	}
}

func (u *upgrade) extend() {
	defer close(u.ended)
	ticker := time.NewTicker(extendEvery)
	defer ticker.Stop()
	for time.Since(u.began) < extendMost {
		u.manager.Extend(extendBy, u.text())
		select {
		case <-u.stop:
			return
		case <-ticker.C:
		}
	}
}

func (u *upgrade) text() string {
	return fmt.Sprintf("bringing the state file to the schema of this release: change %d of %d, for %s so far",
		int(u.at.Load())-u.first+1, u.last-u.first, time.Since(u.began).Round(time.Second))
}

// end says that the file is open, or why not.
func (u *upgrade) end(err error) {
	if u.began.IsZero() {
		return
	}
	if u.stop != nil {
		close(u.stop)
		<-u.ended
	}
	if err == nil {
		u.log.Info("the state file has the schema of this release", "schema", u.last, "took", time.Since(u.began).Round(time.Millisecond))
	}
}
