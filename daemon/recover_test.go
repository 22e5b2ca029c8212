package daemon_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/store"
	"github.com/gpusched/gpusched/units"
	"github.com/gpusched/gpusched/units/unittest"
)

// loseFile stops the daemon, damages the state file, and starts a daemon with a new file.
func (r *rig) loseFile() {
	r.t.Helper()
	r.stop()
	path := filepath.Join(r.dir, "state.db")
	if err := os.WriteFile(path, []byte("no database any more"), 0o600); err != nil {
		r.t.Fatal(err)
	}
	if _, err := store.Quarantine(path, time.Now()); err != nil {
		r.t.Fatal(err)
	}
	r.start()
}

// The state file is lost while one job runs on shares of GPUs and another waits. The running job
// keeps its limits and gets its result. Nothing is left of the waiting job. No id is used twice.
func TestJobsAreRecoveredFromTheirUnits(t *testing.T) {
	r := newRig(t, 2, nil)
	id := r.submit(0, func(s *job.Submission) {
		s.Request = job.Request{GPUMilli: 1500, GPUMemBytes: 1 << 30, MemBytes: 1 << 33, CPUs: 3, TimeLimit: job.Span(time.Hour)}
	})
	r.runs(id)
	r.waitUntil("it is running", func() bool { return r.state(id) == job.Running })
	before, err := r.d.Query(t.Context(), job.Query{IDs: []job.ID{id}})
	if err != nil {
		t.Fatal(err)
	}
	r.submit(2, nil)
	r.loseFile()
	r.waitUntil("it is known again", func() bool {
		v, err := r.d.Query(t.Context(), job.Query{})
		return err == nil && len(v.Jobs) == 1 && v.Jobs[0].ID == id
	})
	after, err := r.d.Query(t.Context(), job.Query{IDs: []job.ID{id}})
	if err != nil {
		t.Fatal(err)
	}
	was, is := before.Jobs[0], after.Jobs[0]
	if is.State != job.Running || !is.Recovered || is.Owner.UID != was.Owner.UID || is.Owner.User != was.Owner.User || is.Label.Name != was.Label.Name {
		t.Errorf("it is %+v", is.Job)
	}
	if a, b := is.Request, was.Request; a.GPUMilli != b.GPUMilli || a.MemBytes != b.MemBytes || a.CPUs != b.CPUs || a.TimeLimit != b.TimeLimit {
		t.Errorf("it asked %+v, and before %+v", a, b)
	}
	if a, b := is.CPUs(), was.CPUs(); a != b {
		t.Errorf("it counts for %d CPUs, and before for %d", a, b)
	}
	for i, g := range was.Attempt.GPUs {
		g.CPUs, g.ChargeMilli, g.PromisedCPUs = "", 0, 0
		if is.Attempt.GPUs[i] != g {
			t.Errorf("it holds %+v, and before %+v", is.Attempt.GPUs[i], g)
		}
	}
	if next := r.submit(1, nil); next <= id+1 {
		t.Errorf("id %d was given out again", next)
	} else if r.state(next) != job.Queued {
		t.Errorf("a job for a whole GPU is %s while shares of both are held", r.state(next))
	} else {
		r.bus.Exit(units.Name(int64(id)), 7)
		if v := r.wait(id); v.State != job.Failed || v.Result.ExitCode != 7 {
			t.Errorf("it ended as %+v", v.Result)
		}
		r.runs(next)
	}
}

// Some decisions about a job are made after its unit is made. Two of them survive the loss of the
// state file: the time limit, and the suspension with its author and duration.
func TestRecoveredJobHasWhatWasDecidedSince(t *testing.T) {
	r := newRig(t, 1, nil)
	id := r.submit(1, func(s *job.Submission) { s.Request.TimeLimit = job.Span(time.Hour) })
	r.runs(id)
	root := job.Actor{User: "root", Admin: true}
	do := func(c job.Command) {
		t.Helper()
		c.Job = id
		if err := r.d.Do(t.Context(), root, c); err != nil {
			t.Fatal(err)
		}
	}
	frozen := func() bool {
		st, err := r.bus.Status(t.Context(), units.Name(int64(id)))
		return err == nil && st.Frozen
	}
	show := func() (j job.Job) {
		if v, err := r.d.Query(t.Context(), job.Query{IDs: []job.ID{id}}); err == nil && len(v.Jobs) == 1 {
			j = v.Jobs[0].Job
		}
		return j
	}
	do(job.Command{Kind: job.CommandSuspend})
	do(job.Command{Kind: job.CommandResume})
	do(job.Command{Kind: job.CommandUpdate, Change: &job.Change{TimeLimit: new(job.Span(3 * time.Hour))}})
	do(job.Command{Kind: job.CommandSuspend})
	r.waitUntil("its unit is frozen", frozen)
	was := show()
	r.loseFile()
	r.waitUntil("it is known again", func() bool { return show().Recovered })
	is := show()
	same := is.SuspendedAt.Equal(was.SuspendedAt)
	is.SuspendedAt, was.SuspendedAt = time.Time{}, time.Time{}
	if is.Request.TimeLimit != was.Request.TimeLimit || !same || is.Suspension != was.Suspension || is.SuspendedTime == 0 {
		t.Errorf("it has a limit of %s and is %+v, and before %s and %+v", is.Request.TimeLimit, is.Suspension, was.Request.TimeLimit, was.Suspension)
	}
	do(job.Command{Kind: job.CommandResume})
	r.waitUntil("it goes on", func() bool { return !frozen() })
	r.bus.Exit(units.Name(int64(id)), 0)
	if v := r.wait(id); v.State != job.Completed {
		t.Errorf("it ended as %+v", v.Result)
	}
	if data, _ := r.specs.Kept(id, 1); data != nil {
		t.Errorf("kept of it is %s", data)
	}
}

// A job that ended while no daemon ran is recovered together with its result.
func TestEndedJobIsRecovered(t *testing.T) {
	r := newRig(t, 1, nil)
	id := r.submit(1, nil)
	r.runs(id)
	r.stop()
	r.bus.Exit(units.Name(int64(id)), 3)
	r.loseFile()
	r.waitUntil("it ended", func() bool {
		v, err := r.d.Query(t.Context(), job.Query{IDs: []job.ID{id}})
		return err == nil && len(v.Jobs) == 1 && v.Jobs[0].State.Terminal()
	})
	if v := r.wait(id); v.State != job.Failed || v.Result.ExitCode != 3 {
		t.Errorf("it ended as %+v", v.Result)
	}
	r.waitUntil("its unit is gone", func() bool { return len(r.bus.Names()) == 0 })
}

// A unit with a job's name is left alone if somebody else made the unit, or if the job has ended
// according to the records.
func TestStrangersAreNotRecovered(t *testing.T) {
	r := newRig(t, 1, nil)
	done := r.submit(1, nil)
	r.runs(done)
	props := r.bus.Properties(units.Name(int64(done)))
	r.bus.Exit(units.Name(int64(done)), 0)
	r.wait(done)
	r.waitUntil("its unit is gone", func() bool { return len(r.bus.Names()) == 0 })
	r.stop()
	for name, p := range map[string][]units.Property{units.Name(77): {{Name: "Description", Value: "mine"}}, units.Name(int64(done)): props} {
		if _, err := r.bus.Start(t.Context(), name, p); err != nil {
			t.Fatal(err)
		}
	}
	r.start()
	after := r.submit(1, nil)
	r.runs(after)
	v, err := r.d.Query(t.Context(), job.Query{})
	if err != nil || len(v.Jobs) != 1 || v.Jobs[0].ID != after {
		t.Errorf("live jobs are %+v, %v", v.Jobs, err)
	}
	if len(r.bus.Names()) != 3 {
		t.Errorf("units are %v", r.bus.Names())
	}
}

// copyState copies the present state file once the daemon knows this many GPUs. The returned
// function restarts the daemon with that copy.
func (r *rig) copyState(gpus int) (putBack func()) {
	path := filepath.Join(r.dir, "state.db")
	r.stop()
	older, err := os.ReadFile(path)
	if err != nil {
		r.t.Fatal(err)
	}
	r.start()
	r.waitUntil("the GPUs are known", func() bool {
		v, err := r.d.Query(r.t.Context(), job.Query{})
		return err == nil && len(v.GPUs) == gpus
	})
	return func() {
		r.stop()
		for _, name := range []string{path + "-wal", path + "-shm"} {
			_ = os.Remove(name)
		}
		if err := os.WriteFile(path, older, 0o600); err != nil {
			r.t.Fatal(err)
		}
		r.start()
	}
}

// Somebody puts back an older copy of the state file, in which a running job still waits. The job
// keeps the GPUs of its unit, although it would get others now. It is not started again.
func TestOlderStateFile(t *testing.T) {
	r := newRig(t, 2, nil)
	id := r.submit(1, func(s *job.Submission) { s.Request.Hold = true })
	putBack := r.copyState(2)
	for _, c := range []job.Command{{Kind: job.CommandPauseGPU, GPU: 0}, {Kind: job.CommandRelease, Job: id}} {
		if err := r.d.Do(t.Context(), job.Actor{Admin: true, User: "root"}, c); err != nil {
			t.Fatal(err)
		}
	}
	r.runs(id)
	r.waitUntil("it is on record", func() bool { return r.state(id) == job.Running })
	putBack()
	r.waitUntil("it is known to run", func() bool { return r.state(id) == job.Running })
	v, err := r.d.Query(t.Context(), job.Query{IDs: []job.ID{id}})
	if err != nil {
		t.Fatal(err)
	}
	if got := job.FormatGPUList(v.Jobs[0].GPUIndexes()); got != "1" || v.Jobs[0].Recovered {
		t.Errorf("it holds GPU %s, and its unit has GPU 1: %+v", got, v.Jobs[0].Job)
	}
	if n := r.bus.Started(units.Name(int64(id))); n != 1 {
		t.Errorf("it was started %d times", n)
	}
	r.bus.Exit(units.Name(int64(id)), 0)
	if v := r.wait(id); v.State != job.Completed {
		t.Errorf("it ended as %+v", v.Result)
	}
}

// Somebody puts back a copy of the state file from before a running job was suspended. The job stays
// suspended.
func TestOlderStateFileOfASuspendedJob(t *testing.T) {
	r := newRig(t, 1, nil)
	id := r.submit(1, nil)
	r.runs(id)
	r.waitUntil("it is on record", func() bool { return r.state(id) == job.Running })
	putBack := r.copyState(1)
	if err := r.d.Do(t.Context(), job.Actor{User: "root", Admin: true}, job.Command{Kind: job.CommandSuspend, Job: id}); err != nil {
		t.Fatal(err)
	}
	putBack()
	r.waitUntil("it is known to be suspended", func() bool {
		v, err := r.d.Query(t.Context(), job.Query{IDs: []job.ID{id}})
		return err == nil && len(v.Jobs) == 1 && v.Jobs[0].IsSuspended() && v.Jobs[0].SuspendedBy == "root"
	})
	r.waitUntil("its unit is frozen", func() bool {
		st, err := r.bus.Status(t.Context(), units.Name(int64(id)))
		return err == nil && st.Frozen
	})
}

// Somebody puts back a copy of the state file that has a running job in an earlier attempt. The job
// continues in its present attempt, on another GPU than the copy says, and is not stopped.
func TestOlderStateFileOfAnEarlierAttempt(t *testing.T) {
	r := newRig(t, 2, nil)
	id := r.submit(1, nil)
	name := units.Name(int64(id))
	r.runs(id)
	r.waitUntil("it is on record", func() bool { return r.state(id) == job.Running })
	putBack := r.copyState(2)
	for _, c := range []job.Command{{Kind: job.CommandPauseGPU, GPU: 0}, {Kind: job.CommandRequeue, Job: id}} {
		if err := r.d.Do(t.Context(), job.Actor{Admin: true, User: "root"}, c); err != nil {
			t.Fatal(err)
		}
	}
	runs := func(attempt int) bool {
		v, err := r.d.Query(t.Context(), job.Query{IDs: []job.ID{id}})
		j := v.Jobs[0]
		return err == nil && j.State == job.Running && j.Attempt.Number == attempt && job.FormatGPUList(j.GPUIndexes()) == "1"
	}
	r.waitUntil("it runs again, on the other", func() bool { return runs(2) })
	putBack()
	r.waitUntil("it is known to run there", func() bool { return runs(2) })
	if n := r.bus.Started(name); n != 2 {
		t.Errorf("it was started %d times", n)
	}
	r.bus.Exit(name, 0)
	if v := r.wait(id); v.State != job.Completed || v.Attempt.Number != 2 {
		t.Errorf("it ended as %+v in attempt %d", v.Result, v.Attempt.Number)
	}
}

// Somebody puts back a copy of the state file that lacks a running job, either with or without the
// files that record the last id. Other users submit jobs at once. Nobody gets that job's id, and
// only its owner can end it.
func TestOlderStateFileAndNewSubmissions(t *testing.T) {
	for name, forget := range map[string][]string{"with the ids": nil, "without": {"state.db.ids", "state.db.last"}} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, 2, nil)
			putBack := r.copyState(2)
			hers := r.submit(1, nil)
			r.runs(hers)
			for _, file := range forget {
				if err := os.Remove(filepath.Join(r.dir, file)); err != nil {
					t.Fatal(err)
				}
			}
			putBack()
			for range 3 {
				if id := r.submit(0, func(s *job.Submission) { s.Owner.UID = 1002 }); id <= hers {
					t.Errorf("the id %d is given out after %d", id, hers)
				}
			}
			r.waitUntil("the job is known again", func() bool { return r.state(hers) == job.Running })
			if v, err := r.d.Query(t.Context(), job.Query{IDs: []job.ID{hers}}); err != nil || v.Jobs[0].Owner.UID == 1002 {
				t.Errorf("it is job %+v, %v", v.Jobs, err)
			}
		})
	}
}

// A drop-in of the site may change how a unit describes its job. The unit is still recognized as
// the unit of that job. If the daemon dies during a start, the job continues and is not started
// again.
func TestUnitThatADropInChanged(t *testing.T) {
	for name, set := range map[string]units.Property{
		"group":       {Name: "Group", Value: "lab"},
		"description": {Name: "Description", Value: "a job of this site"},
		"fields":      {Name: "LogExtraFields", Value: [][]byte(nil)},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, 1, nil)
			unit := units.Name(1)
			r.bus.Hold(unittest.OpStart, unit)
			id := r.submit(1, nil)
			r.waitUntil("it is being started", func() bool { return slices.Contains(r.bus.Names(), unit) })
			r.bus.DropIn(unit, set)
			r.stop()
			r.bus.Release(unittest.OpStart, unit)
			r.start()
			r.waitUntil("it is on record", func() bool { return r.state(id) != job.Starting })
			if state := r.state(id); state != job.Running {
				t.Fatalf("it is %s while its unit runs", state)
			}
			r.bus.Exit(unit, 0)
			if v := r.wait(id); v.State != job.Completed || v.Attempt.Number != 1 || r.bus.Started(unit) != 1 {
				t.Errorf("it is %s in attempt %d, and was started %d times", v.State, v.Attempt.Number, r.bus.Started(unit))
			}
		})
	}
}

// A unit that has a job's name but belongs to somebody else is neither adopted nor stopped. The job
// waits until that unit is gone, and gives the unit as the reason.
func TestUnitOfAnotherIsLeftAlone(t *testing.T) {
	for name, whose := range map[string]int{"another's": 1002, "no job's": 0} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, 1, nil)
			first := r.submit(1, func(s *job.Submission) { s.Owner.UID = whose + 7 })
			r.runs(first)
			props := r.bus.Properties(units.Name(int64(first)))
			if whose == 0 {
				props = []units.Property{{Name: "Description", Value: "mine"}}
			}
			r.bus.Exit(units.Name(int64(first)), 0)
			r.wait(first)
			next := units.Name(int64(first + 1))
			if _, err := r.bus.Start(t.Context(), next, props); err != nil {
				t.Fatal(err)
			}
			id := r.submit(1, nil)
			r.waitUntil("it waits and says why", func() bool {
				v, err := r.d.Query(t.Context(), job.Query{IDs: []job.ID{id}})
				return err == nil && v.Jobs[0].State == job.Queued && v.Jobs[0].Attempt != nil
			})
			r.restart()
			r.waitUntil("it still waits", func() bool { return r.state(id) == job.Queued })
			if names := r.bus.Names(); !slices.Contains(names, next) || r.bus.Started(next) != 1 {
				t.Errorf("units %v; %s was started %d times", names, next, r.bus.Started(next))
			}
		})
	}
}

// According to the records, a job runs or is being stopped, but the unit with its name belongs to
// somebody else. That unit is left alone, and the job's own unit counts as gone.
func TestUnitInPlaceOfAJobs(t *testing.T) {
	for _, ending := range []bool{false, true} {
		t.Run(fmt.Sprintf("ending %t", ending), func(t *testing.T) {
			r := newRig(t, 1, nil)
			id := r.submit(1, nil)
			name := units.Name(int64(id))
			r.runs(id)
			r.waitUntil("it is on record", func() bool { return r.state(id) == job.Running })
			if ending {
				r.bus.Hold(unittest.OpStop, name)
				if err := r.d.Do(t.Context(), job.Actor{User: "root", Admin: true}, job.Command{Kind: job.CommandCancel, Job: id}); err != nil {
					t.Fatal(err)
				}
				r.waitUntil("it is being stopped", func() bool { return r.state(id) == job.Ending })
			}
			r.stop()
			r.bus.Release(unittest.OpStop, name)
			if err := r.bus.Stop(t.Context(), name); err != nil {
				t.Fatal(err)
			}
			if _, err := r.bus.Start(t.Context(), name, []units.Property{{Name: "Description", Value: "mine"}}); err != nil {
				t.Fatal(err)
			}
			r.start()
			r.waitUntil("the job has ended", func() bool {
				v, err := r.d.Query(t.Context(), job.Query{IDs: []job.ID{id}})
				return err == nil && len(v.Jobs) == 1 && v.Jobs[0].State.Terminal()
			})
			if !r.bus.Running(name) {
				t.Error("the unit in its place was stopped")
			}
		})
	}
}
