package daemon_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon"
	"github.com/gpusched/gpusched/daemon/core/site"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/store"
	"github.com/gpusched/gpusched/gpu"
	"github.com/gpusched/gpusched/gpu/gputest"
	"github.com/gpusched/gpusched/units"
	"github.com/gpusched/gpusched/units/contract"
	"github.com/gpusched/gpusched/units/launch"
	"github.com/gpusched/gpusched/units/unittest"
)

// rig is a daemon with a real store. Its systemd and GPUs are simulated in memory.
// The daemon can be killed and restarted.
type rig struct {
	t    *testing.T
	dir  string
	bus  *unittest.Systemd
	gpus *gputest.Fake
	boot atomic.Int64
	pids map[int]string // unit of each process; written only before the first error

	kernel *kernel
	told   noteRecorder
	specs  specs
	ready  atomic.Int64
	asked  atomic.Int64 // how often the daemon asked systemd about its own state

	store    *diskStore
	settings daemon.Settings
	d        *daemon.Daemon
	stop     func()
	ended    chan error // gets the result of the present daemon's Run
}

func newRig(t *testing.T, gpus int, behave func(string, []units.Property) unittest.Behaviour) *rig {
	r := &rig{t: t, dir: t.TempDir(), bus: unittest.New(unittest.Options{Behave: behave}), gpus: gputest.NewFake(gpus), pids: map[int]string{}, kernel: newKernel()}
	r.start()
	t.Cleanup(func() { r.stop() })
	return r
}

// start opens the store and runs a daemon with it.
func (r *rig) start() {
	r.t.Helper()
	s, err := store.Open(r.t.Context(), filepath.Join(r.dir, "state.db"), store.Options{})
	if err != nil {
		r.t.Fatal(err)
	}
	r.store = &diskStore{Store: s}
	restored, err := s.Load(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	r.told.bus = r.bus
	r.settings = daemon.Settings{
		Policy:         site.Policy{StartsInFlight: 4, DefaultGrace: 30 * time.Second, DefaultRequeue: true, CleaningTimeout: time.Minute, MemSlackBytes: 1 << 29, FreshFor: time.Second, Xids: gpu.DefaultXids()},
		SampleInterval: time.Hour, TasksMax: 100, RequireFilter: true,
	}
	r.d, err = daemon.New(daemon.Options{
		Store: r.store, Units: r.bus, Changes: daemon.ChangesOf(r.bus.Changes()), Source: r.gpus, Specs: &r.specs, Notify: r, Origin: r.bus.Origin, System: r.system, Tell: r.told.tell, Open: r.told.open,
		Kernel: r.kernel, UnitOf: func(pid int) string { return r.pids[pid] },
		Log:      slog.New(slog.DiscardHandler),
		Restored: restored, Settings: r.settings,
		Launcher: "/launcher", Boot: func() (string, error) { return fmt.Sprintf("boot%d", r.boot.Load()), nil },
		WatchdogEvery: time.Millisecond,
	})
	if err != nil {
		r.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(r.t.Context())
	done := make(chan struct{})
	ended := make(chan error, 1)
	r.ended = ended
	go func() {
		defer close(done)
		ended <- r.d.Run(ctx)
	}()
	r.stop = sync.OnceFunc(func() {
		cancel()
		<-done
		_ = s.Close()
	})
}

func (r *rig) system(ctx context.Context) (units.System, error) {
	defer r.asked.Add(1)
	return r.bus.System(ctx)
}

func (r *rig) restart() {
	r.t.Helper()
	r.stop()
	r.start()
}

func (r *rig) Ready()        {}
func (r *rig) Stopping()     {}
func (r *rig) Alive()        { r.ready.Add(1) }
func (r *rig) Status(string) {}

// submit queues a job and returns its id.
func (r *rig) submit(gpus int, change func(*job.Submission)) job.ID {
	r.t.Helper()
	s := submission(gpus)
	if change != nil {
		change(&s)
	}
	out, err := r.d.Submit(r.t.Context(), s, false)
	if err != nil {
		r.t.Fatalf("submit: %v", err)
	}
	return out.ID
}

func submission(gpus int) job.Submission {
	return job.Submission{
		Owner: job.Owner{UID: 1001, GID: 1001, User: "alice"}, Label: job.Label{Name: "train"},
		Request: job.Request{GPUMilli: gpus * job.WholeGPU},
		Payload: job.Payload{Program: contract.Program{Argv: []string{"true", "secret-argument"}, Env: []string{"KEY=secret-value"}, EnvMode: contract.EnvInherit, Dir: "/home/alice"}},
	}
}

// wait waits until a job has ended, and returns it.
func (r *rig) wait(id job.ID) job.JobView {
	r.t.Helper()
	v, err := r.d.Wait(r.t.Context(), id)
	if err != nil {
		r.t.Fatalf("wait for job %d: %v", id, err)
	}
	return v
}

// waitUntil waits until other goroutines have made a condition true.
func (r *rig) waitUntil(what string, ok func() bool) {
	r.t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		if ok() {
			return
		}
		<-time.After(time.Millisecond)
	}
	r.t.Fatalf("never: %s", what)
}

// state returns the state of a job, or "" if there is no such job.
// A task that has not started is not a job yet.
func (r *rig) state(id job.ID) job.State {
	v, err := r.d.Query(r.t.Context(), job.Query{IDs: []job.ID{id}})
	if err != nil {
		r.t.Fatalf("query job %d: %v", id, err)
	}
	if len(v.Jobs) == 0 {
		return ""
	}
	return v.Jobs[0].State
}

func (r *rig) runs(id job.ID) {
	r.waitUntil("the unit runs", func() bool { return r.bus.Running(units.Name(int64(id))) })
}

// diskStore is a Store whose disk fails when a test wants it to.
type diskStore struct {
	*store.Store
	full  atomic.Bool
	torn  atomic.Bool                   // the state file is damaged
	unfit atomic.Bool                   // the next write has a record that can never be written
	hang  atomic.Pointer[chan struct{}] // writes wait until this is closed
	bare  atomic.Bool                   // all payloads are gone
	short atomic.Int64                  // number of writes that fail before one succeeds

	commits atomic.Int64 // number of successful writes
}

var errFull = errors.New("no space left on device")

func (s *diskStore) Commit(ctx context.Context, records []job.Record) error {
	if free := s.hang.Load(); free != nil {
		<-*free
	}
	if s.full.Load() || s.short.Add(-1) >= 0 {
		return errFull
	}
	if s.unfit.Swap(false) {
		return fmt.Errorf("commit: %w", job.ErrInvalid)
	}
	if s.torn.Load() {
		return fmt.Errorf("commit: %w", job.ErrDamaged)
	}
	s.commits.Add(1)
	return s.Store.Commit(ctx, records)
}

func (s *diskStore) Payload(ctx context.Context, id job.ID) (job.Payload, error) {
	if s.bare.Load() {
		id = -1
	}
	return s.Store.Payload(ctx, id)
}

// specs stores the last spec of each job in memory.
type specs struct {
	mu      sync.Mutex
	got     map[job.ID]*launch.Spec
	kept    map[job.ID][]byte
	refusal error
}

func (s *specs) Keep(id job.ID, _ int, data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept == nil {
		s.kept = map[job.ID][]byte{}
	}
	s.kept[id] = data
	return nil
}

func (s *specs) Kept(id job.ID, _ int) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kept[id], nil
}

func (s *specs) SweepKept(wanted func(job.ID, int) bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.kept, func(id job.ID, _ []byte) bool { return !wanted(id, 1) })
	return nil
}

// refuse makes each later Write fail with err.
func (s *specs) refuse(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusal = err
}

func (s *specs) Write(id job.ID, _ int, spec *launch.Spec) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.got == nil {
		s.got = map[job.ID]*launch.Spec{}
	}
	if s.refusal != nil {
		return "", s.refusal
	}
	s.got[id] = spec
	return fmt.Sprintf("/specs/%d.%d", id, spec.Attempt), nil
}

func (s *specs) Remove(id job.ID, _ int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.got, id)
	delete(s.kept, id)
	return nil
}

func (s *specs) Sweep(func(job.ID, int) bool) error { return nil }
