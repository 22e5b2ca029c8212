package daemon_test

import (
	"errors"
	"testing"

	"github.com/gpusched/gpusched/daemon"
	"github.com/gpusched/gpusched/daemon/job"
)

// A client under whose request the disk begins to fail is told so; what it asked
// is done when the disk works again.
func TestDiskFailsUnderARequest(t *testing.T) {
	r := newRig(t, 1, nil)
	r.store.full.Store(true)
	_, err := r.d.Submit(t.Context(), submission(1), false)
	var refusal *job.Refusal
	if !errors.As(err, &refusal) || refusal.Kind != job.RefusedUnavailable {
		t.Fatalf("submit on a disk that just filled up: %v", err)
	}
	if checks := r.d.Health(t.Context()); checks[0].Health != job.Failing {
		t.Errorf("health: %+v", checks[0])
	}
	r.store.full.Store(false)
	r.runs(1)
	if _, err := r.d.Submit(t.Context(), submission(1), false); err != nil {
		t.Errorf("on a disk that works again: %v", err)
	}
}

// A job whose private part is gone fails and says why, instead of holding its
// GPU for ever.
func TestPayloadIsGone(t *testing.T) {
	r := newRig(t, 1, nil)
	r.store.bare.Store(true)
	v := r.wait(r.submit(1, nil))
	if v.State != job.Failed || v.Result == nil || v.Result.Launch != job.LaunchSpec || v.Result.Detail != job.ErrNoPayload.Error() {
		t.Errorf("%s: %+v", v.State, v.Result)
	}
	r.store.bare.Store(false)
	r.runs(r.submit(1, nil)) // on its GPU
}

// A file that no further try mends ends the daemon, so that the next one gets a
// file that works; the client is told that nothing is confirmed, and what ran is
// found again.
func TestDamageEndsTheDaemon(t *testing.T) {
	r := newRig(t, 2, nil)
	on := r.submit(1, nil)
	r.runs(on)
	r.store.torn.Store(true)
	_, err := r.d.Submit(t.Context(), submission(1), false)
	var refusal *job.Refusal
	if !errors.As(err, &refusal) || refusal.Kind != job.RefusedUnavailable {
		t.Errorf("submit on a damaged file: %v", err)
	}
	if err := <-r.ended; !errors.Is(err, daemon.ErrDamaged) {
		t.Errorf("the daemon ended: %v", err)
	}
	r.restart()
	if s := r.state(on); s != job.Running {
		t.Errorf("what ran is %s", s)
	}
}
