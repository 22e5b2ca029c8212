package main

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/packaging/test/await"
)

// soon is a limit that is certain to come.
const soon = 50 * time.Millisecond

// newTestRig is a rig without systemd, whose daemon takes connections and never answers.
func newTestRig(t *testing.T, l limits) *rig {
	t.Helper()
	b := &rig{uid: os.Getuid(), dir: t.TempDir(), limits: l}
	b.socket = filepath.Join(b.dir, "silent")
	listener, err := net.Listen("unix", b.socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	return b
}

// isLate checks that a wait ended at its limit, and said what it waited for.
func isLate(t *testing.T, err error, what string) {
	t.Helper()
	var late *await.LateError
	if !errors.As(err, &late) || !strings.Contains(err.Error(), "waiting for "+what) {
		t.Errorf("%v, want one that waited for %s", err, what)
	}
}

// A job that never begins, or never gets to its first instruction.
func TestACommandThatNeverBegins(t *testing.T) {
	b := newTestRig(t, limits{begin: soon})
	_, err := b.measure(func(*mark) error { return nil })
	isLate(t, err, "a command to write to "+b.dir)
}

// A command that was refused ends the measurement at once, not at the limit.
func TestACommandThatIsRefused(t *testing.T) {
	b, refused := newTestRig(t, limits{begin: time.Hour}), errors.New("refused")
	if _, err := b.measure(func(*mark) error { return refused }); !errors.Is(err, refused) {
		t.Errorf("%v", err)
	}
}

// Who writes before anybody reads is not missed and does not wait, and nor does one who comes when nobody reads any more.
func TestAMarkIsNotMissed(t *testing.T) {
	b := newTestRig(t, limits{begin: time.Minute, command: time.Minute})
	early := func(m *mark) error {
		_, err := b.as(t.Context(), m.command()...)
		return err
	}
	m, err := b.newMark()
	if err != nil {
		t.Fatal(err)
	}
	defer m.close()
	if err := early(m); err != nil {
		t.Error(err)
	}
	if _, err := m.begun(time.Minute); err != nil {
		t.Error(err)
	}
	if err := early(m); err != nil { // a second job that writes to the same one
		t.Error(err)
	}
	if d, err := b.measure(early); err != nil || d <= 0 {
		t.Errorf("%s, %v", d, err)
	}
}

// A job that waits for its release gets it.
func TestRelease(t *testing.T) {
	b := newTestRig(t, limits{begin: time.Minute, command: time.Minute})
	m, err := b.newMark()
	if err != nil {
		t.Fatal(err)
	}
	defer m.close()
	if err := m.release(); err != nil {
		t.Fatal(err)
	}
	if _, err := b.as(t.Context(), "/bin/sh", "-c", "read x <"+m.path); err != nil {
		t.Error(err)
	}
}

// A client that hangs: each way in which commands are run.
func TestACommandThatHangs(t *testing.T) {
	b := newTestRig(t, limits{command: soon, many: soon})
	_, err := b.as(t.Context(), "sleep", "1000")
	isLate(t, err, "sleep 1000")
	_, _, err = b.loop(t.Context(), 2, "exec sleep 1000")
	isLate(t, err, "/bin/sh -c i=0")
	_, _, err = b.process(t.Context(), []string{"sleep", "1000"})
	isLate(t, err, "sleep 1000")
	_, err = b.latency(t.Context(), b.never)()
	isLate(t, err, "sleep 1000")
}

// never is a starter whose command does not return.
func (b *rig) never(ctx context.Context, _ *mark) (func() error, error) {
	_, err := b.as(ctx, "sleep", "1000")
	return nil, err
}

// A daemon that takes connections and never answers.
func TestADaemonThatStopsAnswering(t *testing.T) {
	b := newTestRig(t, limits{begin: soon, command: soon, many: soon})
	_, err := b.submitOverSocket(t.Context(), 3, 1000, "true")
	isLate(t, err, "3 submissions to be acknowledged")
	isLate(t, b.counted(t.Context(), "running", 4), "4 jobs that are running")
	_, err = b.lastJob(t.Context())
	isLate(t, err, "the list of all jobs")
	isLate(t, b.submitOne(t.Context()), "a submission to be acknowledged")
}

// A daemon that is gone, and does not come back.
func TestADaemonThatIsGone(t *testing.T) {
	b := newTestRig(t, limits{command: soon})
	b.socket += "-not"
	isLate(t, b.countedWithin(t.Context(), soon, "queued", 9), "9 jobs that are queued")
}

// A pause ends with its context, and says why.
func TestPause(t *testing.T) {
	ctx, stop := await.For(t.Context(), "the end of part x", soon)
	defer stop()
	isLate(t, pause(ctx, time.Hour), "the end of part x")
	if err := pause(t.Context(), 0); err != nil {
		t.Error(err)
	}
}

// A part that waits for something without a name ends all the same.
func TestAPartHasALimit(t *testing.T) {
	b := newTestRig(t, limits{})
	b.limits.part = soon
	err := b.measurePart(t.Context(), part{"x", func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}})
	isLate(t, err, "the end of part x")
	if len(b.record.Parts) != 0 {
		t.Errorf("a part that was not finished counts as measured: %v", b.record.Parts)
	}
}
