package job

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// If tasks are dropped and started in any order, the counts are the same as those of a plain list
// of tasks. Adjacent drops form one entry.
func TestTasksAreCounted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 12).Draw(t, "size")
		model := make([]string, size) // for each task: "", "job", or who dropped it
		var n Tasks
		for range rapid.IntRange(0, 20).Draw(t, "steps") {
			at := rapid.IntRange(0, size-1).Draw(t, "task")
			switch by := rapid.SampledFrom([]string{"job", "ahead", "alice", "bob"}).Draw(t, "by"); {
			case by == "job" && n.Next < size:
				model[n.Next] = "job"
				n = n.Pass()
			case by == "ahead" && model[at] == "":
				model[at] = "job"
				n = n.Ahead(at)
			case by != "job" && by != "ahead" && model[at] == "":
				before := slices.Clone(n.Dropped)
				old := n.Dropped
				n = n.Drop(at, by)
				if model[at] = by; !slices.Equal(before, old) {
					t.Fatalf("a record's runs changed from %v to %v", before, old)
				}
			}
			checkTasks(t, n, model)
		}
	})
}

func checkTasks(t *rapid.T, n Tasks, model []string) {
	next, jobs, left := slices.Index(model, ""), 0, 0
	if next < 0 {
		next = len(model)
	}
	for at, m := range model {
		switch by, dropped := n.DroppedBy(at); {
		case dropped != (m != "" && m != "job") || dropped && by != m:
			t.Fatalf("task %d is %q, and %q, %t: %+v", at, m, by, dropped, n)
		case n.Passed(at) != (m == "job"):
			t.Fatalf("task %d is %q, and has become a job: %t: %+v", at, m, n.Passed(at), n)
		case m == "job":
			jobs++
		case m == "":
			left++
		}
	}
	if n.Next != next || n.Live != jobs || n.Became() != jobs || n.Left(len(model)) != left || n.Cancelled() != len(model)-jobs-left {
		t.Fatalf("%+v of %v: next %d, %d jobs, %d left, %d cancelled", n, model, n.Next, n.Became(), n.Left(len(model)), n.Cancelled())
	}
	for i := 1; i < len(n.Dropped); i++ {
		a, b := n.Dropped[i-1], n.Dropped[i]
		if a.Last >= b.First || a.Last+1 == b.First && a.By == b.By {
			t.Fatalf("runs overlap or are not joined: %v", n.Dropped)
		}
	}
}

func TestPositionOfATask(t *testing.T) {
	a := &Array{Ranges: []Range{{1, 1, 1}, {5, 13, 4}}}
	for i := range a.Size() {
		if got := a.Position(a.At(i)); got != i {
			t.Errorf("task %d is at %d, not %d", a.At(i), got, i)
		}
	}
	for _, index := range []int{0, 2, 4, 6, 12, 17} {
		if a.Position(index) != -1 || a.Has(index) {
			t.Errorf("there is a task %d", index)
		}
	}
}

// An array can have too many failures only while it waits and has a limit. It is at rest when none
// of its tasks runs.
func TestTooManyFailed(t *testing.T) {
	for _, c := range []struct {
		most            int
		tasks           *Tasks
		state           State
		tooMany, atRest bool
	}{
		{0, &Tasks{Failures: 9}, Queued, false, false},
		{2, &Tasks{Failed: 9, Failures: 1}, Queued, false, false},
		{2, &Tasks{Failures: 2}, Queued, true, true},
		{2, &Tasks{Failures: 3, Live: 1}, Queued, true, false},
		{2, &Tasks{Failures: 2}, Spawned, false, false},
		{2, &Tasks{Failures: 2}, Failed, false, true},
		{2, nil, Queued, false, false},
	} {
		j := Job{State: c.state, Request: Request{MaxFailures: c.most}, Life: Life{Tasks: c.tasks}}
		if j.TooManyFailed() != c.tooMany || j.AtRest() != c.atRest {
			t.Errorf("%d of %+v, %s: %t, %t", c.most, c.tasks, c.state, j.TooManyFailed(), j.AtRest())
		}
	}
}
