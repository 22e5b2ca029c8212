package server

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/server/servertest"
	"github.com/gpusched/gpusched/units/contract"
)

// readJob reads the job in a JobReply.
func readJob(t *testing.T, status int, body string) api.Job {
	t.Helper()
	return answerOf[api.JobReply](t, status, body).Job
}

func TestATaskIsFoundByItsName(t *testing.T) {
	s := testServer(queueWithArray(), nil)
	status, body := ask(s, bob, "GET", "/v1/jobs/3_1", "")
	if j := readJob(t, status, body); j.ID != 4 || j.Task == nil || *j.Task != (api.Task{Task: job.Task{Array: 3, Index: 1}, Name: "3_1"}) || j.Array != nil ||
		j.Unit != "gpujob-4.service" || j.State != "running" || j.GPUs[0] != (api.Allocation{GPU: contract.GPU{UUID: "GPU-a", Milli: 250, PromiseBytes: 1 << 30}}) {
		t.Errorf("%+v", j)
	}
	status, body = ask(s, bob, "GET", "/v1/jobs/3", "")
	if j := readJob(t, status, body); j.Array == nil || *j.Array != (api.Array{Spec: "0-7%2", Size: 8, Limit: 2, Next: 1, Live: 1}) || j.Unit != "" || j.Task != nil {
		t.Errorf("%+v", j)
	}
	for path, want := range map[string]api.Code{
		"/v1/jobs/3_8": api.CodeNotFound, "/v1/jobs/9_0": api.CodeNotFound, "/v1/jobs/1_0": api.CodeNotFound,
		"/v1/jobs/3_01": api.CodeUsage, "/v1/jobs/3_": api.CodeUsage, "/v1/jobs/_1": api.CodeUsage, "/v1/jobs/3_-1": api.CodeUsage, "/v1/jobs/3_1_1": api.CodeUsage,
	} {
		if _, body := ask(s, root, "GET", path, ""); refusal(t, body).Code != want {
			t.Errorf("GET %s: %s", path, body)
		}
	}
}

func TestATaskThatHasNotStartedIsShownByItsArray(t *testing.T) {
	b := queueWithArray()
	s := testServer(b, nil)
	for name, start := range map[string]time.Time{"3_1": {}, "3_2": {}} {
		b.View.Jobs[2].Tasks = &job.Tasks{Next: 2, Live: 2}
		if name == "3_2" {
			start = noon.Add(time.Hour) // the array starts this task next
		}
		status, body := ask(s, bob, "GET", "/v1/jobs/"+name, "")
		if j := readJob(t, status, body); j.Task.Name != name || !j.ExpectedStart.Equal(start) {
			t.Errorf("%s: %+v", name, j)
		}
	}
	status, body := ask(s, bob, "GET", "/v1/jobs/3_5", "")
	if j := readJob(t, status, body); j.ID != 0 || j.Name != "sweep" || j.State != "queued" || j.Unit != "" || !j.ExpectedStart.IsZero() {
		t.Errorf("%+v", j)
	}
	b.End(3, job.Result{Outcome: job.Cancelled})
	status, body = ask(s, bob, "GET", "/v1/jobs/3_5", "")
	if j := readJob(t, status, body); j.State != "cancelled" || j.Result == nil {
		t.Errorf("after its array's end: %+v", j)
	}
}

func TestCommandsFindTasks(t *testing.T) {
	b := queueWithArray()
	s := testServer(b, nil)
	for path, want := range map[string]job.Command{
		"/v1/jobs/3_1/requeue": {Kind: job.CommandRequeue, Job: 4},
		"/v1/jobs/3_2/cancel":  {Kind: job.CommandCancel, Job: 3, Task: new(2)},
	} {
		status, body := ask(s, alice, "POST", path, "")
		all := b.Commands()
		got := all[len(all)-1].Command
		if status != 200 || got.Kind != want.Kind || got.Job != want.Job || (got.Task == nil) != (want.Task == nil) || got.Task != nil && *got.Task != *want.Task {
			t.Errorf("%s: %d %s: %+v", path, status, body, got)
		}
	}
	status, body := ask(s, bob, "GET", "/v1/jobs/3_2", "")
	if j := readJob(t, status, body); j.State != "cancelled" || j.Result == nil || !strings.Contains(j.Result.Sentence, "by alice") {
		t.Errorf("a task that was cancelled before it started: %+v", j)
	}
	status, body = ask(s, bob, "GET", "/v1/jobs/3", "")
	if j := readJob(t, status, body); j.State != "queued" || j.Array.Cancelled != 1 || j.Array.Next != 1 || j.Array.SkippedTasks != "2" {
		t.Errorf("its array: %+v", j.Array)
	}
	for _, verb := range []string{"hold", "requeue"} {
		if _, body := ask(s, alice, "POST", "/v1/jobs/3_7/"+verb, ""); refusal(t, body).Code != api.CodeConflict || !strings.Contains(body, "3_7 has not started") {
			t.Error(body)
		}
	}
}

// A countingBackend counts the queries.
type countingBackend struct {
	*servertest.Backend
	queries atomic.Int32
}

func (b *countingBackend) Query(ctx context.Context, q job.Query) (job.View, error) {
	b.queries.Add(1)
	return b.Backend.Query(ctx, q)
}

// A listing that names many tasks asks the scheduler about their arrays once.
func TestListingOfManyTasks(t *testing.T) {
	b := &countingBackend{Backend: queueWithArray()}
	status, body := ask(testServer(b, nil), bob, "GET", "/v1/jobs?ids=3_2,3_3,3_4,3_5,3_6,3_7", "")
	if n := b.queries.Load(); status != 200 || strings.Count(body, `"3_`) != 6 || n > 3 { // those of the listing, the arrays and the GPUs
		t.Errorf("%d queries; %d %s", n, status, body)
	}
}

func TestListingsSelectTasks(t *testing.T) {
	for path, want := range map[string][]job.ID{
		"/v1/jobs?array=3":            {4},
		"/v1/jobs?array=1":            nil,
		"/v1/jobs?ids=3_1":            {4},
		"/v1/jobs?ids=3_5":            {0}, // this task is not a job yet
		"/v1/jobs?ids=3_5,3_1":        {4, 0},
		"/v1/jobs?ids=3_5,3_5":        {0},
		"/v1/jobs?ids=3_5&state=lost": nil,
		"/v1/jobs?ids=1-2,3_1":        {1, 2, 4},
		"/v1/jobs?array=3&state=lost": nil,
	} {
		status, body := ask(testServer(queueWithArray(), nil), bob, "GET", path, "")
		var r api.ListReply
		if err := json.Unmarshal([]byte(body), &r); err != nil || status != 200 {
			t.Fatalf("%d %s", status, body)
		}
		var got []job.ID
		for _, j := range r.Jobs {
			got = append(got, j.ID)
		}
		if !slices.Equal(got, want) {
			t.Errorf("GET %s: %v, want %v", path, got, want)
		}
	}
	status, body := ask(testServer(queueWithArray(), nil), bob, "GET", "/v1/jobs?form=ids&ids=3_5", "")
	if status != 200 || body != "3_5\n" {
		t.Errorf("%d %q", status, body)
	}
	long := "/v1/jobs?ids=" + strings.Repeat("3_1,", maxTaskNames) + "3_1"
	for _, path := range []string{"/v1/jobs?array=x", "/v1/jobs?ids=3_x", long} {
		if _, body := ask(testServer(queueWithArray(), nil), bob, "GET", path, ""); refusal(t, body).Code != api.CodeUsage {
			t.Errorf("%s: %s", path, body)
		}
	}
}

// waitsOfOne is the number of waits that the test server allows one user.
const waitsOfOne = 96

// A wait for a task continues when the task becomes a job. Until then the server does not poll the
// backend, however long the wait takes and however many clients wait.
func TestAWaitForATaskOutlastsItsStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &callCounter{Backend: queueWithArray()}
		s := testServer(b, nil)
		got := make(chan string)
		for range waitsOfOne {
			go func() {
				_, body := ask(s, bob, "GET", "/v1/jobs/3_2/wait?timeout_seconds=600", "")
				got <- body
			}()
		}
		synctest.Wait()
		asked := b.asked.Load()
		time.Sleep(9 * time.Minute) // passes at once in the synctest bubble
		synctest.Wait()
		if n := b.asked.Load(); n != asked || n == 0 {
			t.Errorf("it asked %d times, and %d while nothing happened", asked, n-asked)
		}
		id := b.StartTask(3, 2)
		synctest.Wait()
		b.End(id, job.Result{Outcome: job.Completed})
		for range waitsOfOne {
			if j := readJob(t, 200, <-got); j.ID != id || j.State != "completed" {
				t.Errorf("%+v", j)
			}
		}
	})
}

// A callCounter counts the calls to a backend.
type callCounter struct {
	*servertest.Backend
	asked atomic.Int64
}

func (c *callCounter) Query(ctx context.Context, q job.Query) (job.View, error) {
	c.asked.Add(1)
	return c.Backend.Query(ctx, q)
}

func (c *callCounter) Task(ctx context.Context, array job.ID, index int) (job.ID, error) {
	c.asked.Add(1)
	return c.Backend.Task(ctx, array, index)
}

// If a client waits for a task, the wait ends when the task is cancelled before it starts.
func TestAWaitForATaskThatNeverStarts(t *testing.T) {
	for _, name := range []string{"3_2", "3"} {
		synctest.Test(t, func(t *testing.T) {
			s := testServer(queueWithArray(), nil)
			got := make(chan string)
			go func() {
				_, body := ask(s, bob, "GET", "/v1/jobs/3_2/wait", "")
				got <- body
			}()
			synctest.Wait()
			ask(s, alice, "POST", "/v1/jobs/"+name+"/cancel", "")
			if j := readJob(t, 200, <-got); j.ID != 0 || j.State != "cancelled" {
				t.Errorf("%+v", j)
			}
		})
	}
}

// A task whose job has been forgotten is not reported as waiting.
func TestAForgottenTaskIsNotFound(t *testing.T) {
	b := queueWithArray()
	s := testServer(b, nil)
	b.View.Jobs[2].Tasks = &job.Tasks{Next: 3, Live: 1, Dropped: []job.Drop{{First: 2, Last: 2, By: "alice"}}}
	for _, path := range []string{"/v1/jobs/3_0", "/v1/jobs/3_0/wait"} {
		if _, body := ask(s, alice, "GET", path, ""); refusal(t, body).Code != api.CodeNotFound || !strings.Contains(body, "forgotten") {
			t.Errorf("%s: %s", path, body)
		}
	}
	for name, want := range map[string]job.State{"3_1": job.Running, "3_2": job.Cancelled, "3_3": job.Queued} {
		status, body := ask(s, alice, "GET", "/v1/jobs/"+name, "")
		if j := readJob(t, status, body); j.State != want {
			t.Errorf("%s is %s", name, j.State)
		}
	}
}

// A lateBackend is a backend in which a task becomes a job just after it was looked up.
type lateBackend struct {
	*servertest.Backend
	looked int
}

func (b *lateBackend) Task(ctx context.Context, array job.ID, index int) (job.ID, error) {
	if b.looked++; b.looked == 1 {
		return 0, nil
	}
	return b.Backend.Task(ctx, array, index)
}

func TestATaskThatStartsMeanwhileIsFound(t *testing.T) {
	b := &lateBackend{Backend: queueWithArray()}
	b.View.Jobs[2].Tasks = &job.Tasks{Next: 2, Live: 1}
	status, body := ask(testServer(b, nil), bob, "GET", "/v1/jobs/3_1", "")
	if j := readJob(t, status, body); j.ID != 4 || b.looked != 2 {
		t.Errorf("%+v", j)
	}
}
