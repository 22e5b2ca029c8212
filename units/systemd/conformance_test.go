package systemd

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"time"

	"github.com/gpusched/gpusched/cgroup"
	"github.com/gpusched/gpusched/units"
	"github.com/gpusched/gpusched/units/contract"
	"github.com/gpusched/gpusched/units/unittest"
)

// testedManager has the methods of Manager that a daemon needs. The suite tests them.
type testedManager interface {
	Start(ctx context.Context, name string, props []units.Property) (units.Status, error)
	Stop(ctx context.Context, name string) error
	Kill(ctx context.Context, name string, signal int, whom units.Whom) error
	Freeze(ctx context.Context, name string, on bool) error
	SetMemory(ctx context.Context, name string, limit, high int64) error
	AllowDevices(ctx context.Context, name string, devices []cgroup.Device, open bool) error
	Status(ctx context.Context, name string) (units.Status, error)
	List(ctx context.Context) ([]units.Status, error)
	Changes() <-chan units.Change
}

// A bench has what the suite needs from the implementation under test.
type bench struct {
	// New returns a manager without any unit of a job. It registers its cleanup with t.
	New func(t *testing.T) testedManager
	// Properties returns the properties of a unit whose main process behaves as b says.
	Properties func(id int64, b unittest.Behaviour) []units.Property
	// Settled waits until the main process of a started unit, which does not end by itself, has
	// become its final program. If Settled is nil, the process has that program from the start.
	Settled func(s units.Status)
	// Processes returns the number of processes in the control group of a status; 0 if the group is
	// gone.
	Processes func(m testedManager, s units.Status) int
	// Devices returns the devices that the unit of a job, or its slice, may open.
	Devices func(m testedManager, unit, slice string) []units.DeviceAllow
	// Slices returns the existing slices of single jobs.
	Slices func(m testedManager) []string
}

// patience is the time without a change after which the suite fails. Only a failure takes that
// long. The time is long because a machine under heavy load may be slow.
const patience = 2 * time.Minute

// The systemd in memory passes the suite that the real one passes (TestMachineConformance).
func TestMemoryConformance(t *testing.T) {
	behaviours := map[string]unittest.Behaviour{}
	s := unittest.Options{Behave: func(name string, props []units.Property) unittest.Behaviour {
		return behaviours[props[0].Value.(string)]
	}}
	conformance(t, bench{
		New: func(*testing.T) testedManager { return unittest.New(s) },
		Properties: func(_ int64, b unittest.Behaviour) []units.Property {
			key := string(rune('a' + len(behaviours)))
			behaviours[key] = b
			return []units.Property{{Name: "Description", Value: key}}
		},
		Processes: func(m testedManager, s units.Status) int { return m.(*unittest.Systemd).Processes(s.Name) },
		Devices: func(m testedManager, unit, _ string) []units.DeviceAllow {
			return m.(*unittest.Systemd).Devices(unit)
		},
		Slices: func(m testedManager) []string { return m.(*unittest.Systemd).Slices() },
	})
}

// conformance checks what package units promises.
func conformance(t *testing.T, b bench) {
	for _, c := range []struct {
		name string
		test func(*testing.T, *stage)
	}{
		{"start", testStart},
		{"exits", testExits},
		{"launcher", testLauncher},
		{"not started", testNotStarted},
		{"kill", testKill},
		{"kill nothing", testKillNothing},
		{"freeze", testFreeze},
		{"memory", testMemory},
		{"devices", testDevices},
		{"exists", testExists},
		{"one of many starts", testManyStarts},
		{"again", testAgain},
		{"stop", testStop},
		{"stop the deaf", testStopDeaf},
		{"sweep", testSweep},
		{"spent", testSpent},
		{"a slice", testSlice},
		{"says that it stops", testStopping},
		{"absent", testAbsent},
		{"list", testList},
		{"names", testNames},
		{"context", testContext},
		{"changes add up", testManyChanges},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, newStage(t, b)) })
	}
}

// stage is one test's manager with helpers.
type stage struct {
	*testing.T
	bench bench
	m     testedManager
	ctx   context.Context
}

func newStage(t *testing.T, b bench) *stage {
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	t.Cleanup(cancel)
	return &stage{T: t, bench: b, m: b.New(t), ctx: ctx}
}

func (s *stage) start(id int64, b unittest.Behaviour) units.Status {
	s.Helper()
	status, err := s.m.Start(s.ctx, units.Name(id), s.bench.Properties(id, b))
	if err != nil {
		s.Fatalf("Start(%d): %v", id, err)
	}
	if phase, _ := units.Decode(status); phase == units.PhaseRunning && lasts(b) && s.bench.Settled != nil {
		s.bench.Settled(s.status(id))
	}
	return status
}

// lasts reports whether the main process runs until something ends it.
func lasts(b unittest.Behaviour) bool {
	return !b.Ends && b.Launch == "" && b.NotStart == 0 && !b.TimesOut
}

func (s *stage) stop(id int64) {
	s.Helper()
	if err := s.m.Stop(s.ctx, units.Name(id)); err != nil {
		s.Fatalf("Stop(%d): %v", id, err)
	}
	s.phase(id, units.PhaseAbsent)
}

func (s *stage) status(id int64) units.Status {
	s.Helper()
	status, err := s.m.Status(s.ctx, units.Name(id))
	if err != nil {
		s.Fatalf("Status(%d): %v", id, err)
	}
	return status
}

func (s *stage) phase(id int64, want units.Phase) {
	s.Helper()
	status := s.status(id)
	if got, _ := units.Decode(status); got != want {
		s.Fatalf("unit %d is %s, want %s: %+v", id, got, want, status)
	}
}

// waitPhase waits until the unit of a job is in a phase, as a daemon does: it reads the state, and
// reads again after every change that may concern the unit.
func (s *stage) waitPhase(id int64, want units.Phase) (units.Status, contract.Exit) {
	s.Helper()
	for {
		status := s.status(id)
		phase, exit := units.Decode(status)
		if phase == want {
			return status, exit
		}
		s.waitChange(id, time.After(patience), status)
	}
}

// waitChange waits for a change that may concern the unit of job id.
func (s *stage) waitChange(id int64, late <-chan time.Time, last units.Status) {
	s.Helper()
	for {
		select {
		case c, ok := <-s.m.Changes():
			if !ok {
				s.Fatal("Changes is closed")
			}
			if c.Resync || c.Name == units.Name(id) {
				return
			}
		case <-late:
			s.Fatalf("no more changes of unit %d, it is still %+v", id, last)
		}
	}
}

// kill sends a signal to the processes of a unit, if there are any.
func (s *stage) kill(id int64, signal syscall.Signal) {
	s.Helper()
	if err := s.m.Kill(s.ctx, units.Name(id), int(signal), []units.Whom{units.All, units.Main}[id%2]); err != nil {
		s.Fatalf("Kill(%d, %v): %v", id, signal, err)
	}
}

// checkProcesses checks the number of processes in the control group of a status.
func (s *stage) checkProcesses(status units.Status, want int, when string) {
	s.Helper()
	if n := s.bench.Processes(s.m, status); n != want {
		s.Errorf("%s: %d processes, want %d: %+v", when, n, want, status)
	}
}

// callErrors returns the errors of each call about one unit.
func (s *stage) callErrors(ctx context.Context, name string) map[string]error {
	_, startErr := s.m.Start(ctx, name, s.bench.Properties(1, unittest.Behaviour{}))
	_, statusErr := s.m.Status(ctx, name)
	return map[string]error{
		"Start": startErr, "Stop": s.m.Stop(ctx, name), "Kill": s.m.Kill(ctx, name, 9, units.All), "Status": statusErr,
	}
}

func (s *stage) wantErr(err, want error) {
	s.Helper()
	if !errors.Is(err, want) {
		s.Fatalf("error is %v, want %v", err, want)
	}
}
