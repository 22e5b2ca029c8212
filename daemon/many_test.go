package daemon_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/store"
)

var admin = job.Actor{UID: 0, User: "root", Admin: true}

// submitWaiting submits n jobs, which wait for a job on the only GPU.
func (r *rig) submitWaiting(n int) (ids []job.ID) {
	r.t.Helper()
	r.runs(r.submit(1, nil))
	r.stop()
	st, err := store.Open(r.t.Context(), filepath.Join(r.dir, "state.db"), store.Options{})
	if err != nil {
		r.t.Fatal(err)
	}
	var records []job.Record
	for i := range n {
		s := submission(1)
		j := job.Job{ID: job.ID(100 + i), Owner: s.Owner, Label: s.Label, Request: s.Request, State: job.Queued, SubmittedAt: time.Now(), ChangedAt: time.Now()}
		j.Held = "alice"
		ids, records = append(ids, j.ID), append(records, job.Record{Job: &j, Payload: &s.Payload})
	}
	if err := errors.Join(st.Commit(r.t.Context(), records), st.Close()); err != nil {
		r.t.Fatal(err)
	}
	r.start()
	return ids
}

func commands(kind job.CommandKind, ids ...job.ID) (list []job.Command) {
	for _, id := range ids {
		list = append(list, job.Command{Kind: kind, Job: id})
	}
	return list
}

// Commands about many jobs need only a few transactions, and between these, other clients are
// answered.
func TestManyAreFewTransactions(t *testing.T) {
	r := newRig(t, 1, nil)
	ids := r.submitWaiting(3*daemon.PieceLen - 100)
	before := r.store.commits.Load()
	told, parts := 0, 0
	_, err := r.d.DoMany(t.Context(), admin, commands(job.CommandCancel, ids...), func(each []job.Outcome) error {
		if parts++; len(each) > daemon.PieceLen {
			t.Errorf("%d in one part", len(each))
		}
		for i, o := range each {
			if o.Refusal != nil || o.Job == nil || o.Job.ID != ids[told+i] || o.Job.State != job.Cancelled {
				t.Fatalf("%d: %+v", ids[told+i], o)
			}
		}
		told += len(each)
		if told < len(ids) {
			if s := r.state(ids[len(ids)-1]); s.Terminal() && parts == 1 { // reported before the last piece is done
				t.Errorf("after one part the last job is %s", s)
			}
		}
		return nil
	})
	if err != nil || told != len(ids) || parts != 3 {
		t.Fatalf("%d of %d told in %d parts: %v", told, len(ids), parts, err)
	}
	if n := r.store.commits.Load() - before; n > 5 {
		t.Errorf("%d transactions for %d jobs", n, len(ids))
	}
	r.restart()
	for _, id := range []job.ID{ids[0], ids[len(ids)-1]} {
		if s := r.state(id); s != job.Cancelled {
			t.Errorf("job %d is %s after a restart", id, s)
		}
	}
}

// If the commands are too much work for one step, the next step continues with the rest, in order.
// No command is done twice. In this test each job gets a dependency on the job before it.
func TestDearCommandsGoOnInTheNextStep(t *testing.T) {
	r := newRig(t, 1, nil)
	ids := r.submitWaiting(1001)
	var list []job.Command
	for i, id := range ids[1:] {
		after := []job.Dependency{{Kind: job.AfterAny, Job: ids[i]}}
		list = append(list, job.Command{Kind: job.CommandUpdate, Job: id, Change: &job.Change{After: &after}})
	}
	told, parts := 0, 0
	_, err := r.d.DoMany(t.Context(), admin, list, func(each []job.Outcome) error {
		parts++
		for i, o := range each {
			if o.Refusal != nil || o.Job == nil || o.Job.ID != list[told+i].Job {
				t.Fatalf("%d: %+v", list[told+i].Job, o)
			}
		}
		told += len(each)
		return nil
	})
	if err != nil || told != len(list) || parts < 3 {
		t.Fatalf("%d of %d told in %d parts: %v", told, len(list), parts, err)
	}
	v, err := r.d.Query(t.Context(), job.Query{IDs: ids})
	if err != nil || len(v.Jobs) != len(ids) {
		t.Fatalf("%d jobs: %v", len(v.Jobs), err)
	}
	for _, j := range v.Jobs {
		if j.ID != ids[0] && (len(j.Pending) != 1 || j.Pending[0].Job != j.ID-1) {
			t.Fatalf("job %d waits for %v", j.ID, j.Pending)
		}
	}
}

// When the daemon dies between two pieces, the reported commands are on disk, and the commands that
// were not begun have changed nothing.
func TestManyAreCutAtAPart(t *testing.T) {
	r := newRig(t, 1, nil)
	ids := r.submitWaiting(4 * daemon.PieceLen)
	enough, told := errors.New("enough"), 0
	_, err := r.d.DoMany(t.Context(), admin, commands(job.CommandCancel, ids...), func(each []job.Outcome) error {
		told += len(each)
		return enough
	})
	if !errors.Is(err, enough) || told != daemon.PieceLen {
		t.Fatalf("%v after %d", err, told)
	}
	r.restart()
	for i, id := range ids {
		switch s := r.state(id); {
		case i < told && s != job.Cancelled:
			t.Fatalf("job %d of %d was told to be cancelled, and is %s", i, len(ids), s)
		case i >= told+daemon.PieceLen && s != job.Queued: // the next piece may be done already
			t.Fatalf("job %d of %d is %s", i, len(ids), s)
		}
	}
}

// No outcome is reported before it is on disk. If the disk fails, the client is told.
func TestManyWaitForTheDisk(t *testing.T) {
	r := newRig(t, 1, nil)
	ids := r.submitWaiting(3)
	r.store.full.Store(true)
	_, err := r.d.DoMany(t.Context(), admin, commands(job.CommandHold, ids...), func([]job.Outcome) error {
		t.Error("told what is not on disk")
		return nil
	})
	var refusal *job.Refusal
	if !errors.As(err, &refusal) || refusal.Kind() != job.RefusedUnavailable {
		t.Errorf("%v", err)
	}
	r.store.full.Store(false)
}

// Each job has an outcome of its own. Commands for somebody else's job, an ended job, an unknown
// job or an impossible request fail, and the others succeed.
func TestManyAreAnsweredOneByOne(t *testing.T) {
	r := newRig(t, 1, nil)
	ids := r.submitWaiting(3)
	bobs := r.submit(0, func(s *job.Submission) { s.Owner = job.Owner{UID: 1002, GID: 1002, User: "bob"}; s.Request.Hold = true })
	if err := r.d.Do(t.Context(), admin, job.Command{Kind: job.CommandCancel, Job: ids[0]}); err != nil {
		t.Fatal(err)
	}
	alice := job.Actor{UID: 1001, GID: 1001, User: "alice"}
	list := commands(job.CommandCancel, ids[0], bobs, 9999, ids[1], ids[2], ids[2])
	list[4].Kind = job.CommandRequeue
	list = append(list, job.Command{Kind: job.CommandOpen, Job: ids[2]})
	var got []string
	_, err := r.d.DoMany(t.Context(), alice, list, func(each []job.Outcome) error {
		for _, o := range each {
			word := "done"
			if o.Refusal != nil {
				word = string(o.Refusal.Code)
			}
			got = append(got, word)
		}
		return nil
	})
	want := []string{"conflict/ended", "forbidden/owner", "not-found/job", "done", "conflict/no-requeue", "done", "usage/command"}
	if err != nil || len(got) != len(want) {
		t.Fatalf("%v, %v", got, err)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%d: %s, want %s", i, got[i], want[i])
		}
	}
	if s := r.state(bobs); s != job.Queued {
		t.Errorf("bob's job is %s", s)
	}
}

// When the client disconnects, the rest of its commands are not carried out.
func TestManyEndWithTheirClient(t *testing.T) {
	r := newRig(t, 1, nil)
	ids := r.submitWaiting(2)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.d.DoMany(ctx, admin, commands(job.CommandRelease, ids...), func([]job.Outcome) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
