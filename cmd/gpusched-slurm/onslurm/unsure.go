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

// markOf returns a text for a job's comment. If the answer to a submission gets lost, the job is
// found by this text. It is the beginning of the request's key or, without a key, 80 random bits.
func markOf(key string) string {
	if key == "" {
		key = rand.Text()
	}
	return key[:min(len(key), 16)]
}

// Submitted returns a function that finds the user's jobs by the keys of their requests. The
// function returns 0 if Slurm has no such job.
func (e *Engine) Submitted(ctx context.Context) (func(key string) job.ID, error) {
	list, err := e.rowsOf(ctx, keyColumns, "--states=all", "--user="+strconv.Itoa(e.uid))
	if err != nil {
		return nil, err
	}
	known := map[string]job.ID{}
	for _, r := range list {
		known[sbatch.ParseComment(r[colComment]).Mark] = r.jobOrArray()
	}
	return func(key string) job.ID { return known[markOf(key)] }, nil
}

// runSbatch submits a job whose comment has the mark. The answer may get lost because sbatch took
// too long or was killed, or because the caller is interrupted. runSbatch then searches for the
// job, because a second submission would run the job twice. If it finds the job, it returns the id;
// after an interruption it also returns the error.
func (e *Engine) runSbatch(ctx context.Context, s sbatch.Submission, mark string) ([]byte, error) {
	inTime, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	out, err := e.slurm.Sbatch(inTime, s.Script, s.Args...)
	if err == nil || !isUnsure(err) {
		return out, err
	}
	interrupted := inTime.Err() != nil
	stop() // a second signal ends the program
	id := e.findByMark(context.WithoutCancel(ctx), mark)
	var apiErr *api.Error
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
	case errors.As(err, &apiErr):
		unknown := *apiErr
		unknown.Hint = mayBeQueued
		return nil, &unknown
	}
	return nil, err
}

const mayBeQueued = "it may be queued: see 'gpusched list' before you submit it again"

// unsureTexts are parts of messages after which it
// is unknown whether the request of sbatch arrived.
var unsureTexts = []string{"has not answered for", "signal: ", "Socket timed out", "Zero Bytes were transmitted"}

// isUnsure reports whether, after this error, it is unknown whether the job exists.
func isUnsure(err error) bool {
	var e *api.Error
	if !errors.As(err, &e) {
		return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
	}
	return slices.ContainsFunc(unsureTexts, func(part string) bool { return strings.Contains(e.Message, part) })
}

// Limits of the search for a submission. The request may arrive after sbatch has given up.
const (
	markTime  = 10 * time.Second
	markPause = 500 * time.Millisecond
	markTries = 3
)

// findByMark returns the user's job that has the mark, or 0.
func (e *Engine) findByMark(ctx context.Context, mark string) job.ID {
	limited, cancel := context.WithTimeout(ctx, markTime)
	defer cancel()
	for range markTries {
		if known, err := e.Submitted(limited); err == nil && known(mark) != 0 {
			return known(mark)
		}
		if api.Pause(limited, markPause) != nil {
			break
		}
	}
	return 0
}
