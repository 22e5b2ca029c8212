package store

import (
	"fmt"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

// Directories are removed in the order of their times, two of each user at a time, and those that
// have no time when their job is forgotten.
func TestDirectories(t *testing.T) {
	s := openNew(t)
	at := func(id job.ID, attempt, uid, minute int) job.Record {
		d := &job.Directory{Job: id, Attempt: attempt, UID: uid, Path: fmt.Sprint("/", uid)}
		if minute > 0 {
			d.Due = time.Date(2026, 1, 1, 0, minute, 0, 0, time.UTC)
		}
		return job.Record{Directory: d}
	}
	kept := array(1, 0)
	commit(t, s, job.Record{Job: kept}, at(1, 0, 1001, 0), at(2, 0, 1002, 0), at(1, 1, 1001, 9), at(1, 2, 1001, 5), at(1, 3, 1001, 7), at(5, 1, 1002, 6))
	expect := func(n int, want ...[2]int64) {
		t.Helper()
		list, err := s.Directories(t.Context(), n)
		var got [][2]int64
		for _, d := range list {
			got = append(got, [2]int64{int64(d.Job), int64(d.Attempt)})
		}
		requireEqual(t, err, got, want)
	}
	expect(10, [2]int64{2, 0}, [2]int64{1, 2}, [2]int64{5, 1}, [2]int64{1, 3})
	expect(1, [2]int64{2, 0})
	gone := at(1, 2, 1001, 0)
	gone.Directory.Gone = true
	commit(t, s, gone, at(5, 1, 1002, 8))
	expect(10, [2]int64{2, 0}, [2]int64{1, 3}, [2]int64{5, 1}, [2]int64{1, 1})

	// another job has the same directory, until it is forgotten as well
	copied := &job.Payload{Snapshot: contract.Snapshot{Dir: "/1002"}}
	other := array(3, 0)
	other.Owner.UID = 1002
	commit(t, s, job.Record{Job: other, Payload: copied})
	expect(10, [2]int64{1, 3}, [2]int64{5, 1}, [2]int64{1, 1})
}
