package core

import (
	"reflect"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// A job that waited from a moment to come, since the clock was set back while the daemon was
// away, waits from now on, and rests like any other: the clock of the process tells a moment
// in another form than the state file has.
func TestAJobRestsAfterTheClockWasSetBack(t *testing.T) {
	now := time.Now() // of this process, with its own clock
	at := now.UTC().Round(0).Add(time.Hour)
	j := job.Job{ID: 1, State: job.Queued, SubmittedAt: at, ChangedAt: at, Life: job.Life{QueuedAt: at}}
	j.Request.GPUMilli = 1000 // there is no GPU
	c := New(Policy{}, "boot1", job.Restored{Jobs: []job.Job{j}})
	c.Step(Listed{Boot: "boot1"}, now)
	l := c.jobs.find(1)
	if l.job != nil {
		t.Errorf("it does not rest: %+v", l.job)
	}
	c.jobs.look(l)
	if got := l.job.QueuedAt; !got.Equal(now) {
		t.Errorf("it waits from %s on, %s is now", got, now)
	}
}

// What waits is the same after a start whether its compact forms are kept or made anew, and with the last job of those
// that were asked alike what they share is forgotten.
func TestCompactFormsAreKept(t *testing.T) {
	at := time.Date(2026, 1, 1, 8, 0, 0, 0, time.UTC)
	changes := []func(*job.Job){
		func(*job.Job) {},
		func(j *job.Job) { j.Expected = 3 * time.Hour },
		func(j *job.Job) { j.QueuedAt = at.Add(24 * time.Hour) }, // the clock was set back since
		func(j *job.Job) { j.Held, j.AwayAt = "root", at.Add(time.Minute) },
		func(j *job.Job) { j.Pending = []job.Dependency{{Kind: job.AfterAny, Job: 1}} },
		func(j *job.Job) { j.Pending = []job.Dependency{{Kind: job.AfterAny, Job: 99}} },
		func(j *job.Job) { j.Request.Begin = at.Add(48 * time.Hour) },
		func(j *job.Job) { j.Request.Spread, j.Request.GPUMilli, j.Request.ExcludeGPUs = true, 500, []int{1} },
		func(j *job.Job) { j.Key, j.Request.Dedup, j.Request.Derived.Shape = "key", "hash", "shape" },
	}
	start := func(kept bool) (*Core, *job.Interned) {
		shelf, r := job.NewInterned(), job.Restored{NextID: 100}
		for i, change := range changes {
			j := job.Job{
				ID: job.ID(i + 1), Owner: job.Owner{UID: 1001, GID: 1001, User: "alice"}, State: job.Queued, SubmittedAt: at, ChangedAt: at,
				Life: job.Life{QueuedAt: at, Bytes: 5, GIDs: job.GIDs{7, 8}},
			}
			j.Request.GPUMilli, j.Request.TimeLimit = 1000, job.Span(time.Hour)
			change(&j)
			c, rests := shelf.Pack(&j)
			if !rests {
				t.Fatal(i, "does not rest")
			}
			r.Waiting = append(r.Waiting, c)
		}
		if kept {
			r.Interned = shelf
		}
		c := New(Policy{}, "boot1", r)
		c.Step(Listed{Boot: "boot1"}, at.Add(time.Hour))
		for _, l := range c.jobs.byID {
			if l.job != nil {
				t.Errorf("job %d does not rest", l.id)
			}
		}
		if err := c.Check(); err != nil {
			t.Error(err)
		}
		return c, shelf
	}
	kept, shelf := start(true)
	anew, _ := start(false)
	for id, l := range anew.jobs.all() {
		own := kept.jobs.find(id)
		looked := kept.jobs.look(own)
		if !reflect.DeepEqual(own.job, l.job) {
			t.Errorf("job %d is %+v where its form is kept, else %+v", id, own.job, l.job)
		}
		kept.jobs.shut(own, looked)
	}
	for id := job.ID(len(changes)); id > 0; id-- {
		kept.Step(Command{Who: job.Actor{Admin: true, User: "root"}, What: job.Command{Kind: job.CommandCancel, Job: id}}, at.Add(2*time.Hour))
	}
	if n := kept.jobs.count(); n > 0 || kept.jobs.interned != shelf {
		t.Errorf("%d jobs are left", n)
	}
	if fields := reflect.ValueOf(shelf).Elem(); fields.FieldByName("byLike").Len()+fields.FieldByName("kinds").Len() > 0 {
		t.Error("what they had in common is still there")
	}
}
