package job

import (
	"slices"
	"time"
)

// Tasks counts an array's tasks by what has become of them.
type Tasks struct {
	Next    int    `json:"next"`              // position of the next task to become a job; no earlier task is left
	Live    int    `json:"live"`              // tasks that are jobs and have not ended
	Failed  int    `json:"failed"`            // tasks that ended without completing
	Dropped []Drop `json:"dropped,omitempty"` // runs of tasks that Next skips, ascending; empty By: they became jobs early

	// Failures is the number of failed tasks that count for Request.MaxFailures: they were not
	// cancelled, and ended after the array was submitted or last released.
	Failures int `json:"failures,omitempty"`

	TurnAt time.Time `json:"turn_at,omitzero"` // when the next task's wait began: at a start, or when the limit allowed it
}

// Drop is a run of tasks, by position, that were cancelled before they started.
type Drop struct {
	First int    `json:"first"`
	Last  int    `json:"last"`
	By    string `json:"by"`
}

// MaxDrops is the maximum number of entries in Tasks.Dropped. There must be a limit, because each
// change of the array records all entries.
const MaxDrops = 1000

// Drop returns the counts after the task at a position was cancelled before it became a job. It
// does not modify the list that n shares with records.
func (n Tasks) Drop(position int, by string) Tasks {
	at, _ := slices.BinarySearchFunc(n.Dropped, position, func(d Drop, p int) int { return d.First - p })
	list := slices.Insert(slices.Clone(n.Dropped), at, Drop{position, position, by})
	for _, i := range []int{at + 1, at} { // the later pair first, so that the index of the other stays valid
		if i > 0 && i < len(list) && list[i-1].Last+1 == list[i].First && list[i-1].By == list[i].By {
			list[i-1].Last = list[i].Last
			list = slices.Delete(list, i, i+1)
		}
	}
	n.Dropped = list
	return n.skip()
}

// Pass returns the counts after the next task became a job.
func (n Tasks) Pass() Tasks {
	n.Next++
	n.Live++
	return n.skip()
}

// Ahead returns the counts after the task at a position became a job before it was its turn.
func (n Tasks) Ahead(position int) Tasks {
	n = n.Drop(position, "")
	n.Live++
	return n
}

// skip moves Next past the dropped tasks.
func (n Tasks) skip() Tasks {
	for _, d := range n.Dropped {
		if d.First <= n.Next && n.Next <= d.Last {
			n.Next = d.Last + 1
		}
	}
	return n
}

// Skipped returns the numbers of the tasks after the next one that no longer wait for their start:
// they were cancelled, or became jobs early.
func (n Tasks) Skipped(a *Array) (list []int) {
	for _, d := range n.Dropped {
		for at := max(d.First, n.Next); at <= d.Last; at++ {
			list = append(list, a.At(at))
		}
	}
	slices.Sort(list)
	return list
}

// DroppedBy returns who cancelled the task at a position before it started. It returns false if
// nobody did.
func (n Tasks) DroppedBy(position int) (by string, dropped bool) {
	by, _ = n.isDropped(position)
	return by, by != ""
}

// Passed reports whether the task at a position has become a job.
func (n Tasks) Passed(position int) bool {
	by, skipped := n.isDropped(position)
	return by == "" && (skipped || position < n.Next)
}

// isDropped reports whether the task at a position is in Dropped, so that Next skips it. It also
// returns who cancelled the task.
func (n Tasks) isDropped(position int) (by string, skipped bool) {
	for _, d := range n.Dropped {
		if d.First <= position && position <= d.Last {
			return d.By, true
		}
	}
	return "", false
}

// MayStart reports whether the task with this number may still become a job. j is the array.
func (j *Job) MayStart(index int) bool {
	n, a := j.Tasks, j.Request.Array
	if n == nil || a == nil || j.State != Queued {
		return false
	}
	at := a.Position(index)
	_, skipped := n.isDropped(at)
	return at >= n.Next && !skipped
}

// TooManyFailed reports whether an array starts no more tasks because MaxFailures of its tasks have
// failed.
func (j *Job) TooManyFailed() bool {
	n, most := j.Tasks, j.Request.MaxFailures
	return n != nil && most > 0 && n.Failures >= most && j.State == Queued
}

// AtRest reports whether clients that wait for the job's end get an answer: the job has ended, or
// it is an array that has no running tasks and starts no more, because too many have failed.
func (j *Job) AtRest() bool { return j.State.Terminal() || j.TooManyFailed() && j.Tasks.Live == 0 }

// Left returns how many tasks have not become jobs yet, in an array of the given size.
func (n Tasks) Left(size int) int { return size - n.Next - n.countDropped(n.Next) }

// Became returns how many tasks have become jobs.
func (n Tasks) Became() int { return n.Next + n.countDropped(n.Next) - n.Cancelled() }

// Cancelled returns how many tasks were cancelled before they started.
func (n Tasks) Cancelled() (sum int) {
	for _, d := range n.Dropped {
		if d.By != "" {
			sum += d.Last - d.First + 1
		}
	}
	return sum
}

// countDropped counts the dropped tasks from a position on. The position must not be inside a run.
func (n Tasks) countDropped(from int) (sum int) {
	for _, d := range n.Dropped {
		if d.First >= from {
			sum += d.Last - d.First + 1
		}
	}
	return sum
}
