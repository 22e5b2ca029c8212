package main

import (
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// A thousand running tasks of an array share one row, and so do its failed tasks. The heading
// counts the tasks, but not the array itself.
func TestTasksShareARow(t *testing.T) {
	b := lab()
	running := b.View.Jobs[1]
	for i := range 1300 {
		j := running
		j.ID, j.Task = job.ID(1000+i), &job.Task{Array: 70, Index: i}
		if i >= 1000 {
			j.State, j.ChangedAt, j.Result = job.Failed, noon.Add(-time.Minute), &job.Result{Outcome: job.Failed, ExitCode: 1}
		}
		b.View.Jobs = append(b.View.Jobs, j)
	}
	array := running
	array.ID, array.State, array.Attempt = 70, job.Spawned, nil
	array.Request.Array, array.Tasks = &job.Array{Ranges: []job.Range{{First: 0, Last: 1299, Step: 1}}}, &job.Tasks{Next: 1300, Live: 1000, Failures: 300}
	b.View.Jobs = append(b.View.Jobs, array)
	socket, _ := serveScheduler(t, b)
	_, _, text := get(t, watchedPage(t, socket, time.Second).URL+"/")
	for _, want := range []string{
		`<h2>Running <span class="n">1002</span></h2>`, `<a href="/job/70">70_[0-999]</a>`, `<span class="run">1000 running</span>`,
		`<span class="bad">200&#43; failed</span>`, "<td>exit code 1</td>",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %s:\n%s", want, text[strings.Index(text, "Recently ended"):])
		}
	}
	if n := strings.Count(text, "<tr>"); n > 20 {
		t.Errorf("the page has %d rows:\n%s", n, text)
	}
}
