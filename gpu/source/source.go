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

// Options of New. Path is required.
type Options struct {
	Path    string        // of gpusched-nvml
	Args    []string      // for it
	Env     []string      // its environment; nil: ours
	Timeout time.Duration // how long it may take to answer; 0: 10 s
	Log     *slog.Logger  // for its stderr; nil: slog.Default
}

// MaxAbandoned is how many killed children may be left in the driver before no
// other is started.
const MaxAbandoned = 3

var (
	// ErrClosed is the answer after Close.
	ErrClosed = errors.New("the source is closed")
	// ErrNoAnswer means that the child hung and was given up.
	ErrNoAnswer = errors.New("no answer in time")
	// ErrAbandoned means that MaxAbandoned children hang in the driver.
	ErrAbandoned = errors.New("too many killed children still hang in the driver")

	errGone = errors.New("it ended")
	errLine = errors.New("it wrote nonsense")
	errCut  = errors.New("given up before the child had its time")
)

// Source asks a child. Its methods may be called by several goroutines; they
// take turns.
type Source struct {
	opts     Options
	now      func() time.Time
	spawn    func(Options, *childLog) (*child, error)
	childLog *childLog

	turn      chan struct{} // holds one token: whoever has it owns the fields up to mu
	seq       uint64
	child     *child // nil: none
	abandoned []*child
	backoff   backoff
	count     count

	mu      sync.Mutex // guards what follows
	closed  bool
	closing chan struct{}           // closed with closed
	cancel  context.CancelCauseFunc // of the Sample that has the turn; nil: none
}

// New starts nothing yet: the first Sample does.
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

// Sample asks for a Snapshot with everything. It waits for its turn for Options.Timeout at most,
// and then as long for the child. With an error the Snapshot has ProblemStale with
// the error as its Detail, so that it can be used as it is; the error is
// ErrClosed, ErrNoAnswer, ErrAbandoned, a *BackoffError, that of ctx, or what
// was wrong with the child.
func (s *Source) Sample(ctx context.Context) (gpu.Snapshot, error) { return s.get(ctx, gpu.OpSample) }

// Look is a Sample without the energy: what a decision needs, several times as fast.
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
		return gpu.Snapshot{}, fmt.Errorf("waiting for a sample under way: %w", context.Cause(ctx))
	case <-patience.C:
		return gpu.Snapshot{}, fmt.Errorf("waiting for a sample under way: %w", ErrNoAnswer)
	case <-s.closing:
		return gpu.Snapshot{}, ErrClosed
	}
	if !s.setCancel(cancel) {
		return gpu.Snapshot{}, ErrClosed
	}
	defer s.setCancel(nil)
	return s.sample(ctx, op)
}

// setCancel lets Close end the Sample under way; false if that has happened.
func (s *Source) setCancel(cancel context.CancelCauseFunc) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cancel = cancel
	return !s.closed
}

// sample asks the child. One that ended since it last answered is replaced at
// once; so is one that crashes over this request, but only once.
func (s *Source) sample(ctx context.Context, op string) (gpu.Snapshot, error) {
	limit := time.Now().Add(s.opts.Timeout)
	for {
		fresh, err := s.ensure()
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
			s.noteEnd(s.killChild())
		default:
			pid := s.child.pid
			err = fmt.Errorf("child %d: %w%s", pid, err, s.killChild())
			s.backoff.failed(s.now(), err)
			return gpu.Snapshot{}, err
		}
	}
}

// ensure has a child to ask, and says whether it is a new one.
func (s *Source) ensure() (fresh bool, err error) {
	if s.child != nil {
		return false, nil
	}
	s.forget()
	if len(s.abandoned) >= MaxAbandoned {
		return false, fmt.Errorf("%w (%d; look at \"dmesg | grep -i nvrm\")", ErrAbandoned, len(s.abandoned))
	}
	if err := s.backoff.check(s.now()); err != nil {
		return false, err
	}
	c, err := s.spawn(s.opts, s.childLog)
	if err != nil {
		err = fmt.Errorf("starting %q: %w", s.opts.Path, err)
		s.backoff.failed(s.now(), err)
		return false, err
	}
	s.opts.Log.Debug("nvml child started", "pid", c.pid)
	s.child = c
	return true, nil
}

// killChild kills the child and returns how it ended, as words to append: also what it
// said last, where that is known by now.
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

// forget strikes off the abandoned children that have ended.
func (s *Source) forget() {
	s.abandoned = slices.DeleteFunc(s.abandoned, (*child).hasEnded)
}

// noteEnd logs the end of a child that had answered before. Success is its way
// to make room for a child that loads the library afresh.
func (s *Source) noteEnd(how string) {
	level := slog.LevelWarn
	if strings.HasPrefix(how, endedWell) {
		level = slog.LevelDebug
	}
	s.opts.Log.Log(context.Background(), level, "nvml child ended, starting another"+how)
}

// Close ends the child and every Sample, and returns when they have ended; its
// error reports children that cannot be killed.
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
	s.forget()
	if len(s.abandoned) > 0 {
		return fmt.Errorf("closing the source of GPU samples: %d killed children hang in the driver", len(s.abandoned))
	}
	return nil
}
