package store

import (
	"context"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/daemon/job"
)

// A row with a separator in a column is read beside the others, and each has its attempt.
func TestSeparatorInColumns(t *testing.T) {
	s := openNew(t)
	user, stopper, waiting := running(1), running(3), queued(4)
	user.Owner.User = "al" + sep + "ice"
	stopper.Stop, stopper.StopBy = job.StopCancel, sep
	waiting.Owner.User = sep + "bob"
	want := []job.Job{*user, *running(2), *stopper, *waiting, *queued(5), *running(6)}
	for i := range want {
		if j := &want[i]; j.Attempt != nil {
			j.Attempt.InvocationID = j.ID.String()
		}
		commit(t, s, job.Record{Job: &want[i], Payload: payload()})
	}
	st, err := s.Load(context.Background())
	requireEqual(t, err, st.Every(), want)
}

// What is said of a row that can't be read names that row, not the one before.
func TestUnreadableRowIsNamed(t *testing.T) {
	d := liveDecoder{fill: job.Job{ID: 7}}
	for _, own := range []string{"8x", "8x" + sep + "more"} {
		b := liveBatch{rows: []liveRow{{own: own}}}
		d.decode(&b, nil)
		if b.err == nil || !strings.HasPrefix(b.err.Error(), "job 8x: ") {
			t.Errorf("%q: %v", own, b.err)
		}
	}
}

// What differs from job to job in what is derived is read beside what is alike, and none gets another's.
func TestDerivedIsEachJobsOwn(t *testing.T) {
	s := openNew(t)
	var want []job.Job
	for i, d := range []job.Derived{
		{}, {Shape: "a"}, {Shape: "a", Script: "b"}, {DefaultedMem: true}, {}, {Shape: `x","derived":{"`}, {Script: "b"}, {Shape: "a"},
	} {
		j := queued(job.ID(i + 1))
		j.Request.Derived = d
		if i == 4 {
			j.Owner.User = `u,"derived":{}`
		}
		want = append(want, *j)
		commit(t, s, job.Record{Job: j, Payload: payload()})
	}
	st, err := s.Load(context.Background())
	requireEqual(t, err, st.Every(), want)
}
