package onslurm

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched-slurm/sbatch"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// markOf is what a submission is found by when its answer did not come: a word of the key of its request, or of
// 80 random bits where that has none.
func markOf(key string) string {
	if key == "" {
		key = rand.Text()
	}
	return key[:min(len(key), 16)]
}

// Submitted finds the user's jobs that Slurm knows by the keys of their requests; 0: it knows none of that.
func (e *Engine) Submitted(ctx context.Context) (func(key string) job.ID, error) {
	list, err := e.rowsOf(ctx, whichJob, "--states=all", "--user="+strconv.Itoa(e.uid))
	if err != nil {
		return nil, err
	}
	known := map[string]job.ID{}
	for _, r := range list {
		known[sbatch.ParseSaid(r[colComment]).Mark] = r.whole()
	}
	return func(key string) job.ID { return known[markOf(key)] }, nil
}

// askSbatch has a job made, the comment of which has the mark. Where the answer does not come, because
// sbatch ended too late or was killed, or the caller was interrupted, it is looked whether there is such a
// job: who submits again would have it run twice. A job that is there has its number in the answer, also beside
// an interruption, which stays one and is told with the number.
func (e *Engine) askSbatch(ctx context.Context, s sbatch.Submission, mark string) ([]byte, error) {
	inTime, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	out, err := e.slurm.Sbatch(inTime, s.Script, s.Args...)
	if err == nil || !unsure(err) {
		return out, err
	}
	interrupted := inTime.Err() != nil
	stop() // a second signal ends the program
	id := e.marked(context.WithoutCancel(ctx), mark)
	var told *api.Error
	switch {
	case interrupted && id != 0:
		name := id.String()
		if e.Names != "" {
			name = e.Names + ":" + name
		}
		e.note("it is queued as job " + name + " ('gpusched cancel " + name + "' takes it back)")
		return []byte(id.String()), context.Canceled
	case interrupted:
		e.note(mayBeQueued)
		return nil, context.Canceled
	case id != 0:
		return []byte(id.String()), nil
	case errors.As(err, &told):
		unknown := *told
		unknown.Hint = mayBeQueued
		return nil, &unknown
	}
	return nil, err
}

const mayBeQueued = "it may be queued: see 'gpusched list' before you submit it again"

// cutOff are parts of what is said where nobody knows whether sbatch's request has arrived.
var cutOff = []string{"has not answered for", "signal: ", "Socket timed out", "Zero Bytes were transmitted"}

// unsure reports whether an error leaves open whether there is a job.
func unsure(err error) bool {
	var e *api.Error
	if !errors.As(err, &e) {
		return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
	}
	return slices.ContainsFunc(cutOff, func(part string) bool { return strings.Contains(e.Message, part) })
}

// How long it is looked for a submission: a request may arrive after sbatch has given up.
const (
	markTime  = 10 * time.Second
	markPause = 500 * time.Millisecond
	markLooks = 3
)

// marked finds the user's job by its mark; 0: none was found in time.
func (e *Engine) marked(ctx context.Context, mark string) job.ID {
	limited, cancel := context.WithTimeout(ctx, markTime)
	defer cancel()
	for range markLooks {
		if known, err := e.Submitted(limited); err == nil && known(mark) != 0 {
			return known(mark)
		}
		if api.Pause(limited, markPause) != nil {
			break
		}
	}
	return 0
}
