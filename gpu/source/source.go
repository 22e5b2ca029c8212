package source

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gpusched/gpusched/gpu"
)

// Options configure New. Path is required.
type Options struct {
	Path    string // of gpusched-nvml
	Args    []string
	Env     []string      // nil: the environment of this process
	Timeout time.Duration // for an answer, default 10 s
	Log     *slog.Logger  // for the child's stderr, default slog.Default
}

// MaxAbandoned is the number of killed children that may hang in the driver. At that number, no
// other child is started.
const MaxAbandoned = 3

var (
	// ErrClosed is returned after Close.
	ErrClosed = errors.New("the source is closed")
	// ErrNoAnswer means that the child hung and was abandoned.
	ErrNoAnswer = errors.New("no answer in time")
	// ErrAbandoned means that MaxAbandoned children hang in the driver.
	ErrAbandoned = errors.New("too many killed children still hang in the driver")

	errGone = errors.New("it ended")
	errLine = errors.New("it wrote an invalid line")
	errCut  = errors.New("interrupted before the child's time limit")
)

// A Source requests Snapshots from a child. Several goroutines may call its methods, which take
// turns.
type Source struct {
	opts     Options
	now      func() time.Time
	spawn    func(Options, *childLog) (*child, error)
	childLog *childLog

	turn      chan struct{} // holds one token, whose owner may use the fields up to mu
	seq       uint64
	child     *child // nil if no child is running
	abandoned []*child
	backoff   backoff
	count     lastCount

	mu      sync.Mutex // guards the following fields
	closed  bool
	closing chan struct{}           // closed when closed is set
	cancel  context.CancelCauseFunc // cancels the running Sample, or nil
}

// New returns a Source. The first Sample starts the child.
func New(o Options) *Source {
	if o.Timeout == 0 {
		o.Timeout = 10 * time.Second
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	s := &Source{opts: o, now: time.Now, spawn: start, childLog: newChildLog(o.Log), turn: make(chan struct{}, 1),
		closing: make(chan struct{})}
	s.turn <- struct{}{}
	return s
}

// Sample returns a complete Snapshot. It waits up to Options.Timeout for its turn, and again up to
// Options.Timeout for the child's answer. After an error, the Snapshot is still valid: it has
// ProblemStale, and its Detail is the error. The error wraps ErrClosed, ErrNoAnswer, ErrAbandoned,
// a *BackoffError, the cause of ctx, or the child's failure.
func (s *Source) Sample(ctx context.Context) (gpu.Snapshot, error) { return s.get(ctx, gpu.OpSample) }

// Look is a Sample without the energy. It takes a fraction of the time, and suffices for decisions.
func (s *Source) Look(ctx context.Context) (gpu.Snapshot, error) { return s.get(ctx, gpu.OpLook) }

func (s *Source) get(ctx context.Context, op string) (gpu.Snapshot, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	snapshot, err := s.inTurn(ctx, cancel, op)
	if err != nil {
		err = fmt.Errorf("sampling the GPUs: %w", err)
		return gpu.Snapshot{TakenUnixNano: s.now().UnixNano(), Problem: gpu.ProblemStale, Detail: err.Error(),
			Devices: []gpu.Device{}}, err
	}
	return snapshot, nil
}

func (s *Source) inTurn(ctx context.Context, cancel context.CancelCauseFunc, op string) (gpu.Snapshot, error) {
	if err := context.Cause(ctx); err != nil {
		return gpu.Snapshot{}, err
	}
	patience := time.NewTimer(s.opts.Timeout)
	defer patience.Stop()
	select {
	case <-s.turn:
		defer func() { s.turn <- struct{}{} }()
	case <-ctx.Done():
		return gpu.Snapshot{}, fmt.Errorf("waiting for another sample: %w", context.Cause(ctx))
	case <-patience.C:
		return gpu.Snapshot{}, fmt.Errorf("waiting for another sample: %w", ErrNoAnswer)
	case <-s.closing:
		return gpu.Snapshot{}, ErrClosed
	}
	if !s.setCancel(cancel) {
		return gpu.Snapshot{}, ErrClosed
	}
	defer s.setCancel(nil)
	return s.sample(ctx, op)
}

// setCancel registers the running Sample, which Close will cancel. It returns false if the Source
// is closed.
func (s *Source) setCancel(cancel context.CancelCauseFunc) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cancel = cancel
	return !s.closed
}

// sample asks the child. A child that has ended since its last answer is replaced at once. A child
// that crashes during this request is also replaced, but only once.
func (s *Source) sample(ctx context.Context, op string) (gpu.Snapshot, error) {
	limit := time.Now().Add(s.opts.Timeout)
	for {
		fresh, err := s.ensureChild()
		if err != nil {
			return gpu.Snapshot{}, err
		}
		s.seq++
		snapshot, err := s.child.ask(ctx, op, s.seq, s.opts.Timeout, limit)
		switch {
		case err == nil:
			s.backoff.reset()
			s.recount(&snapshot)
			return snapshot, nil
		case errors.Is(err, errCut): // the next Sample gives the child the rest of its time
			return gpu.Snapshot{}, err
		case errors.Is(err, errGone) && !fresh:
			s.logEnd(s.killChild())
		default:
			pid := s.child.pid
			err = fmt.Errorf("child %d: %w%s", pid, err, s.killChild())
			s.backoff.addFailure(s.now(), err)
			return gpu.Snapshot{}, err
		}
	}
}

// ensureChild starts a child if none is running, and reports whether it did.
func (s *Source) ensureChild() (fresh bool, err error) {
	if s.child != nil {
		return false, nil
	}
	s.dropEnded()
	if len(s.abandoned) >= MaxAbandoned {
		return false, fmt.Errorf("%w (%d; look at \"dmesg | grep -i nvrm\")", ErrAbandoned, len(s.abandoned))
	}
	if err := s.backoff.check(s.now()); err != nil {
		return false, err
	}
	c, err := s.spawn(s.opts, s.childLog)
	if err != nil {
		err = fmt.Errorf("starting %q: %w", s.opts.Path, err)
		s.backoff.addFailure(s.now(), err)
		return false, err
	}
	s.opts.Log.Debug("nvml child started", "pid", c.pid)
	s.child = c
	return true, nil
}

// killChild kills the child. It returns a phrase about how the child ended, with its last output if
// known.
func (s *Source) killChild() string {
	c := s.child
	s.child = nil
	if !c.end() {
		s.abandoned = append(s.abandoned, c)
		return " (killed, and has not ended yet)"
	}
	if c.lastLine == "" {
		return c.how
	}
	return c.how + ", and said last: " + c.lastLine
}

// dropEnded drops abandoned children that have ended.
func (s *Source) dropEnded() {
	s.abandoned = slices.DeleteFunc(s.abandoned, (*child).hasEnded)
}

// logEnd logs the end of a child that had answered before. A child that exits with success wants to
// be replaced by one that loads the library again.
func (s *Source) logEnd(how string) {
	level := slog.LevelWarn
	if strings.HasPrefix(how, endedWell) {
		level = slog.LevelDebug
	}
	s.opts.Log.Log(context.Background(), level, "nvml child ended, starting another"+how)
}

// Close ends the child and all Samples, and waits for them. It returns an error if children cannot
// be killed.
func (s *Source) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	close(s.closing)
	if s.cancel != nil {
		s.cancel(ErrClosed)
	}
	s.mu.Unlock()
	<-s.turn
	defer func() { s.turn <- struct{}{} }()
	if s.child != nil {
		s.killChild()
	}
	s.dropEnded()
	if len(s.abandoned) > 0 {
		return fmt.Errorf("closing the source of GPU samples: %d killed children hang in the driver", len(s.abandoned))
	}
	return nil
}
