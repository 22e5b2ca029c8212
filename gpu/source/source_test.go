package source

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gpusched/gpusched/gpu"
	"github.com/gpusched/gpusched/gpu/gputest"
)

func TestAGoodChildConforms(t *testing.T) {
	gputest.Run(t, func(t *testing.T) gputest.Source { return New(options(t, "good")) })
}

func TestAnswersInPieces(t *testing.T) {
	s := open(t, options(t, "in pieces"))
	for range 3 {
		mustSample(t, s)
	}
}

func mustSample(t *testing.T, s *Source) gpu.Snapshot {
	t.Helper()
	snapshot, err := s.Sample(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return snapshot
}

// mustFail expects a Sample that fails with all of the words.
func mustFail(t *testing.T, s *Source, words ...string) error {
	t.Helper()
	snapshot, err := s.Sample(t.Context())
	for errors.Is(err, errCut) { // this process did not get to run in time
		snapshot, err = s.Sample(t.Context())
	}
	if err == nil {
		t.Fatalf("got %+v, want an error", snapshot)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error %q does not say %q", err, w)
		}
	}
	if snapshot.Problem != gpu.ProblemStale || snapshot.Detail != err.Error() {
		t.Errorf("with error %q comes %+v", err, snapshot)
	}
	return err
}

func TestBadChildren(t *testing.T) {
	tests := []struct {
		mode  string
		words []string
	}{
		{"crash at once", []string{"it ended", "exit status 127", "--census", "said last: symbol lookup error: ?[31mundefined symbol"}},
		{"crash on a request", []string{"it ended", "exit status 3"}},
		{"garbage", []string{"it wrote an invalid line", "killed"}},
		{"another seq", []string{"it wrote an invalid line", "instead of"}},
		{"endless line", []string{"it wrote an invalid line", "more than 4194304 bytes"}},
		{"deaf", []string{"it ended", "killed"}},
	}
	for _, tt := range tests {
		t.Run(tt.mode, func(t *testing.T) {
			s := open(t, options(t, tt.mode))
			s.now = func() time.Time { return time.Unix(0, 0) }
			mustFail(t, s, append(tt.words, "sampling the GPUs: child ")...)
			mustFail(t, s, tt.words...) // the second start is not delayed
			var waiting *BackoffError
			if err := mustFail(t, s, "failed 2 times, next start in "); !errors.As(err, &waiting) || waiting.After <= 0 || waiting.After > firstDelay {
				t.Errorf("the third: %v", err)
			}
		})
	}
}

func TestNoProgram(t *testing.T) {
	s := open(t, Options{Path: "/no/such/gpusched-nvml"})
	mustFail(t, s, `starting "/no/such/gpusched-nvml"`, "no such file")
}

// A child that exits after an answer, as it does to reload the library, is replaced within the next
// Sample.
func TestAChildThatEndsIsReplaced(t *testing.T) {
	s := open(t, options(t, "one answer"))
	seen := map[string]bool{}
	for range 5 {
		seen[mustSample(t, s).Detail] = true
	}
	if len(seen) != 5 {
		t.Errorf("%d children gave 5 answers", len(seen))
	}
}

// A child that hangs is killed, and nobody waits for its end (invariant 2).
func TestAHungChildIsAbandoned(t *testing.T) {
	there := filename(t)
	o := options(t, "hang unless there", there)
	o.Timeout = 200 * time.Millisecond
	s := open(t, o)
	began := time.Now()
	if err := mustFail(t, s, "no answer in time", "killed"); !errors.Is(err, ErrNoAnswer) {
		t.Errorf("error %v", err)
	}
	if took := time.Since(began); took < o.Timeout || took > time.Minute {
		t.Errorf("took %s", took)
	}
	if err := os.WriteFile(there, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	s.opts.Timeout = 20 * time.Second
	mustSample(t, s)
}

// Invariant 2: unkillable children do not accumulate.
func TestUnkillableChildren(t *testing.T) {
	o := options(t, "good")
	o.Timeout = 20 * time.Millisecond
	s := New(o)
	s.now = func() time.Time { return time.Unix(0, 0).Add(time.Duration(s.backoff.failures) * time.Hour) } // no back-off
	var hung []*child
	s.spawn = func(Options, *childLog) (*child, error) {
		hung = append(hung, startUnkillable(t))
		return hung[len(hung)-1], nil
	}
	for range MaxAbandoned {
		mustFail(t, s, "no answer in time", "has not ended yet")
	}
	if err := mustFail(t, s, "too many killed children"); !errors.Is(err, ErrAbandoned) {
		t.Errorf("error %v", err)
	}
	if len(hung) != MaxAbandoned {
		t.Errorf("%d children were started", len(hung))
	}
	close(hung[1].ended) // the driver releases one
	s.spawn, s.opts.Timeout = start, 20*time.Second
	mustSample(t, s)
	if err := s.Close(); err == nil || !strings.Contains(err.Error(), "2 killed children") {
		t.Errorf("closing: %v", err)
	}
}

// startUnkillable returns a child that reads its input and never ends.
func startUnkillable(t *testing.T) *child {
	t.Helper()
	var p pipes
	if err := p.open(exec.Command("none")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.closeTheirs()
		p.closeOurs()
	})
	logClosed := make(chan struct{})
	close(logClosed)
	c := &child{pid: 1, kill: func() {}, closeLog: func() {}, ended: make(chan struct{}), logClosed: logClosed, stdin: p.ours[0], stdout: p.ours[1]}
	c.lines = newLines(c.stdout)
	return c
}

// Invariant 1: the end of a caller's context ends its Sample. The child still gets its whole time
// to answer.
func TestAContextThatEndsLeavesTheChild(t *testing.T) {
	there := filename(t)
	s := open(t, options(t, "when there", there))
	var pid int
	for range 3 {
		giveUp(t, s)
		if pid == 0 {
			pid = s.child.pid
		}
	}
	if err := os.WriteFile(there, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	began := time.Now().UnixNano()
	if got := mustSample(t, s); got.TakenUnixNano < began {
		t.Error("the answer is that of an earlier request")
	}
	if s.child.pid != pid {
		t.Errorf("child %d was replaced by %d", pid, s.child.pid)
	}
}

// giveUp sends a request and does not wait for the answer.
func giveUp(t *testing.T, s *Source) {
	t.Helper()
	ctx, leave := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() {
		_, err := s.Sample(ctx)
		gone <- err
	}()
	for !s.asking() {
		runtime.Gosched()
	}
	leave()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// Invariant 2: a child that hangs is found even if no caller waits for the whole timeout.
func TestImpatientCallersNoticeHangs(t *testing.T) {
	o := options(t, "hang")
	o.Timeout = 150 * time.Millisecond
	s := open(t, o)
	for began := time.Now(); ; {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		_, err := s.Sample(ctx)
		cancel()
		if errors.Is(err, ErrNoAnswer) {
			return
		}
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > time.Minute {
			t.Fatalf("error %v after %s", err, time.Since(began))
		}
	}
}

// An answer that arrived while nobody was reading counts.
func TestALateAnswerIsNotAHang(t *testing.T) {
	there := filename(t)
	s := open(t, options(t, "when there", there))
	giveUp(t, s)
	pid := s.child.pid
	s.child.since = s.child.since.Add(-time.Hour)
	if err := os.WriteFile(there, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	awaitAnswer(t, s.child.stdout)
	mustSample(t, s)
	if s.child.pid != pid {
		t.Error("the child was replaced")
	}
}

// awaitAnswer waits until the pipe has data or is closed.
func awaitAnswer(t *testing.T, pipe *os.File) {
	t.Helper()
	err := pipe.SetReadDeadline(time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pipe.SyscallConn()
	if err == nil {
		err = conn.Read(func(fd uintptr) bool {
			n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
			return n > 0 || err != nil
		})
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestCloseEndsASample(t *testing.T) {
	s := New(options(t, "hang"))
	sampled := make(chan error, 2)
	for range 2 { // one asks, the other waits for its turn
		go func() {
			_, err := s.Sample(context.Background())
			sampled <- err
		}()
	}
	for !s.asking() {
		runtime.Gosched()
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := <-sampled; !errors.Is(err, ErrClosed) {
			t.Errorf("error %v", err)
		}
	}
}

func (s *Source) asking() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cancel != nil
}

// Close ends all goroutines (invariant 6).
func TestNoGoroutineIsLeft(t *testing.T) {
	before := runtime.NumGoroutine()
	for _, mode := range []string{"good", "one answer", "crash on a request", "garbage", "talk", "hang"} {
		o := options(t, mode)
		o.Log = slog.New(slog.DiscardHandler)
		if mode == "hang" {
			o.Timeout = 50 * time.Millisecond
		}
		s := New(o)
		for range 3 {
			_, _ = s.Sample(t.Context())
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	for began := time.Now(); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Since(began) > time.Minute {
			stacks := make([]byte, 1<<16)
			t.Fatalf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
		}
	}
}

// Invariant 4: the child holds a pipe, which closes when the child ends.
func TestAChildDoesNotOutliveUs(t *testing.T) {
	fifo := filename(t)
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	daemon := exec.Command(os.Args[0], fifo)
	daemon.Env = []string{variableMode + "=parent"}
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	held, err := os.Open(fifo) // waits until the child opens the other end
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if err := daemon.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = daemon.Wait()
	ended := make(chan error, 1)
	go func() {
		_, err := io.ReadAll(held)
		ended <- err
	}()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("the child lives on")
	}
}

// The stderr of a child is limited (invariant 5).
func TestStderrIsBounded(t *testing.T) {
	var log lockedBuffer
	o := options(t, "talk")
	o.Log = slog.New(slog.NewTextHandler(&log, nil))
	s := New(o)
	if _, err := s.Sample(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	text := log.String()
	n := strings.Count(text, "nvml child says")
	if n < logBurst || n > logBurst+10 || len(text) > 2*n*maxLogLine {
		t.Errorf("%d lines, %d bytes", n, len(text))
	}
	if !strings.Contains(text, `line="line 0? yyy`) {
		t.Errorf("the first line is not clean: %.200q", text)
	}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
