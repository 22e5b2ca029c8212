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

// markOf returns the text in a job's comment by which a submission is found if its answer gets
// lost: the beginning of the request's key, or 80 random bits if it has none.
func markOf(key string) string {
	if key == "" {
		key = rand.Text()
	}
	return key[:min(len(key), 16)]
}

// Submitted returns a function that finds the user's jobs by the keys of their requests; it returns
// 0 if Slurm has no such job.
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

// runSbatch submits a job whose comment has the mark. If the answer gets lost because sbatch took
// too long or was killed, or if the caller is interrupted, it searches for the job: submitting
// again would run it twice. If it finds the job, it returns the id, on an interruption together
// with the error.
func (e *Engine) runSbatch(ctx context.Context, s sbatch.Submission, mark string) ([]byte, error) {
	inTime, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	out, err := e.slurm.Sbatch(inTime, s.Script, s.Args...)
	if err == nil || !unsure(err) {
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

// unsureTexts are parts of messages that leave open whether sbatch's request arrived.
var unsureTexts = []string{"has not answered for", "signal: ", "Socket timed out", "Zero Bytes were transmitted"}

// unsure reports whether an error leaves open whether the job exists.
func unsure(err error) bool {
	var e *api.Error
	if !errors.As(err, &e) {
		return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
	}
	return slices.ContainsFunc(unsureTexts, func(part string) bool { return strings.Contains(e.Message, part) })
}

// The search for a submission: the request may arrive after sbatch has given up.
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
