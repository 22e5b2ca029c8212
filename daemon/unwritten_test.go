package daemon_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/words"
	"github.com/gpusched/gpusched/units"
	"github.com/gpusched/gpusched/units/contract"
	"github.com/gpusched/gpusched/units/launch"
)

// If the disk fails during a client's request, the client is told. The request is carried out when
// the disk works again.
func TestDiskFailsUnderARequest(t *testing.T) {
	r := newRig(t, 1, nil)
	r.store.full.Store(true)
	_, err := r.d.Submit(t.Context(), submission(1), false)
	var refusal *job.Refusal
	if !errors.As(err, &refusal) || refusal.Kind() != job.RefusedUnavailable {
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

// A job whose private part is gone fails with that reason, and releases its GPU.
func TestPayloadIsGone(t *testing.T) {
	r := newRig(t, 1, nil)
	r.store.bare.Store(true)
	v := r.wait(r.submit(1, func(s *job.Submission) { // the payload is too large to be kept in memory
		s.Payload.Env = []string{"A=" + strings.Repeat("a", 64<<10)}
	}))
	if v.State != job.Failed || v.Result == nil || v.Result.Launch != contract.StepSpec || v.Result.Detail.Text != job.ErrNoPayload.Error() {
		t.Errorf("%s: %+v", v.State, v.Result)
	}
	r.store.bare.Store(false)
	r.runs(r.submit(1, nil)) // the next job gets the same GPU
}

// A job fails with a reason if its spec alone is larger than its user's memory for specs. If there
// is no room only because of the user's other jobs, the job waits and releases its GPU.
func TestNoRoomForASpec(t *testing.T) {
	r := newRig(t, 1, nil)
	full := &launch.RoomError{Bytes: 5, Held: 2, Most: 4}
	r.specs.refuse(fmt.Errorf("write the spec: %w", full))
	v := r.wait(r.submit(1, nil))
	if v.State != job.Failed || v.Result == nil || v.Result.Launch != contract.StepSpec || v.Result.Detail.Text != full.Error() {
		t.Errorf("%s: %+v", v.State, v.Result)
	}
	full.Bytes = 3
	waits := r.submit(1, nil)
	r.waitUntil("there is no room for it", func() bool { return r.state(waits) == job.Queued })
	for _, c := range r.d.Health(t.Context()) {
		if c.Name == "starts" && c.Health != job.Healthy {
			t.Errorf("it counts as a fault of the machine: %+v", c)
		}
	}
	r.specs.refuse(nil)
	r.runs(r.submit(1, nil)) // the next job gets the same GPU
}

// If the state file is damaged beyond repair, the daemon ends, and the next daemon gets a new file.
// The client is told that its request is not confirmed. Running jobs are found again.
func TestDamageEndsTheDaemon(t *testing.T) {
	r := newRig(t, 2, nil)
	on := r.submit(1, nil)
	r.runs(on)
	r.waitUntil("all is written", func() bool { return r.state(on) == job.Running })
	r.store.torn.Store(true)
	_, err := r.d.Submit(t.Context(), submission(1), false)
	var refusal *job.Refusal
	if !errors.As(err, &refusal) || refusal.Kind() != job.RefusedUnavailable {
		t.Errorf("submit on a damaged file: %v", err)
	}
	if err := <-r.ended; !errors.Is(err, job.ErrDamaged) {
		t.Errorf("the daemon ended: %v", err)
	}
	r.restart()
	if s := r.state(on); s != job.Running {
		t.Errorf("what ran is %s", s)
	}
}

// If the disk hangs during a write, health reports it.
// Questions are answered and new jobs are refused. When the disk answers, everything continues.
func TestDiskHangs(t *testing.T) {
	r := newRig(t, 1, nil)
	on := r.submit(1, nil)
	r.runs(on)
	r.waitUntil("all is written", func() bool { return r.state(on) == job.Running })
	free := make(chan struct{})
	r.store.hang.Store(&free)
	submitted := make(chan error, 1)
	go func() {
		_, err := r.d.Submit(context.Background(), submission(1), false)
		submitted <- err
	}()
	var refusal *job.Refusal
	if err := <-submitted; !errors.As(err, &refusal) || !strings.Contains(words.Error(refusal), "has not answered since") {
		t.Errorf("the one under whom it hangs: %v", err)
	}
	if _, err := r.d.Submit(t.Context(), submission(1), false); !errors.As(err, &refusal) || refusal.Kind() != job.RefusedUnavailable {
		t.Errorf("the next: %v", err)
	}
	if s := r.state(on); s != job.Running {
		t.Errorf("the job is %s", s)
	}
	if c := r.d.Health(t.Context())[0]; c.Health != job.Failing || !strings.Contains(c.Detail, "has not answered since") {
		t.Errorf("health: %+v", c)
	}
	r.store.hang.Store(nil)
	close(free)
	r.waitUntil("health is well again", func() bool { return r.d.Health(t.Context())[0].Health == job.Healthy })
	if _, err := r.d.Submit(t.Context(), submission(1), false); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// No command is acknowledged before its change is on disk.
// When the disk works again, every change is carried out.
func TestCommandsAreOnDisk(t *testing.T) {
	for kind, c := range map[job.CommandKind]struct {
		job.Command
		seen func(v job.View) bool
	}{
		job.CommandHold:     {job.Command{Job: 2}, func(v job.View) bool { return jobOf(v, 2).Held != "" }},
		job.CommandUpdate:   {job.Command{Job: 2, Change: &job.Change{Name: new("x")}}, func(v job.View) bool { return jobOf(v, 2).Label.Name == "x" }},
		job.CommandPauseGPU: {job.Command{}, func(v job.View) bool { return v.GPUs[0].Control.Paused }},
		job.CommandDrainGPU: {job.Command{}, func(v job.View) bool { return v.GPUs[0].Control.Drain }},
		job.CommandReserve: {
			job.Command{Reservation: &job.Reservation{GPUs: []job.Allocation{{GPU: contract.GPU{Index: 0}}}, From: time.Now(), To: time.Now().Add(time.Hour)}},
			func(v job.View) bool { return len(v.Reservations) == 1 },
		},
		job.CommandCancel: {job.Command{Job: 2}, func(v job.View) bool { return jobOf(v, 2).State == job.Cancelled }},
	} {
		t.Run(string(kind), func(t *testing.T) {
			r := newRig(t, 1, nil)
			first, second := r.submit(1, nil), r.submit(1, nil)
			r.waitUntil("the first runs", func() bool { return r.state(first) == job.Running })
			r.store.full.Store(true)
			c.Kind = kind
			var refusal *job.Refusal
			err := r.d.Do(t.Context(), job.Actor{Admin: true, User: "root"}, c.Command)
			if !errors.As(err, &refusal) || refusal.Kind() != job.RefusedUnavailable {
				t.Fatalf("on a full disk it is answered: %v", err)
			}
			r.store.full.Store(false)
			r.waitUntil("it is done", func() bool {
				v, err := r.d.Query(t.Context(), job.Query{IDs: []job.ID{first, second}})
				return err == nil && c.seen(v)
			})
		})
	}
}

func jobOf(v job.View, id job.ID) job.JobView {
	for _, j := range v.Jobs {
		if j.ID == id {
			return j
		}
	}
	return job.JobView{}
}

// While the disk fails, no start begins before its record is on disk, and no unit is collected.
func TestNothingStartsBeforeItsRecord(t *testing.T) {
	r := newRig(t, 1, nil)
	first := r.submit(1, nil)
	next := r.submit(0, func(s *job.Submission) {
		s.Request.After = []job.Dependency{{Kind: job.AfterAny, Job: first}}
	})
	r.waitUntil("the first runs", func() bool { return r.state(first) == job.Running })
	r.store.full.Store(true)
	r.bus.Exit(units.Name(int64(first)), 0)
	r.waitUntil("the trouble is noticed", func() bool { return r.d.Health(t.Context())[0].Health == job.Failing })
	if n := r.bus.Started(units.Name(int64(next))); n != 0 || len(r.bus.Names()) != 1 {
		t.Errorf("the next job was started %d times, and the units are %v", n, r.bus.Names())
	}
	r.store.full.Store(false)
	r.runs(next)
}
