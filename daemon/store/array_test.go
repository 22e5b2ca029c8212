package store

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// Each start and end of a task changes a few numbers in its array's row. SQLite then writes only a
// few pages. It does not write the array's parameters again, although they are in the same row and
// can take a hundred kilobytes.
func TestArrayRowIsChangedInPlace(t *testing.T) {
	disk := newDisk(t, "array")
	p := newPlay(t, disk, lifetime{})
	a := array(1, 0)
	lr := job.Param{Name: "lr"}
	for i := range 500 {
		lr.Values = append(lr.Values, fmt.Sprint(i, strings.Repeat("x", 240)))
	}
	a.Request.Array.Params = []job.Param{lr}
	if err := p.open(); err != nil {
		t.Fatal(err)
	}
	commit(t, p.s, job.Record{Job: a, Payload: payload()})
	written, worst := 0, 0
	disk.Judge(func(c diskCall) diskFault {
		if c.Op == opWrite {
			written += c.N
		}
		return noFault
	})
	for i := range 100 {
		for live := range 2 {
			before := written
			a.Tasks.Next, a.Tasks.Live, a.Tasks.Failed = i+1, 1-live, i/2
			a.Tasks.TurnAt = epoch.Add(time.Duration(i) * 7919 * time.Millisecond).Truncate(time.Millisecond)
			commit(t, p.s, job.Record{Job: a})
			worst = max(worst, written-before)
		}
	}
	t.Logf("%d bytes for 100 tasks, %d at the worst", written, worst)
	if written > 2.5e6 {
		t.Errorf("%d bytes were written for 100 tasks", written)
	}
}
