package look

import (
	"slices"
	"testing"

	"github.com/gpusched/gpusched/cmd/gpusched/afar"
	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// An event belongs to a job if it has the job's name, the job's number, or the number of its array.
func TestEventsMatchNamesOfJobs(t *testing.T) {
	of := api.Event{Event: job.Event{Job: 9, Called: "7_3"}}
	for id, want := range map[string]bool{"7_3": true, "7": true, "9": true, "8": false, "7_4": false} {
		if got := isOf(&of, id); got != want {
			t.Errorf("%q: %v", id, got)
		}
	}
}

// A machine can't send a job under the name of another machine's job.
func TestAMachineCannotNameAnothersJobs(t *testing.T) {
	task := &api.Task{Task: job.Task{Array: 7, Index: 3}, Name: "b:1"}
	doc := listAnswer{ListReply: api.ListReply{
		Jobs: []api.Job{{ID: 8, Host: "b", Task: task}, {ID: 9, Engine: "b"}},
		GPUs: []api.GPU{{Host: "b", GPU: job.GPU{Shares: []job.GPUShare{{Called: "7_3"}, {Called: "b:1", Job: 4}}}}},
	}}
	afar.NameDocument("a", &doc)
	got := []string{doc.Jobs[0].Called(), doc.Jobs[1].Called(), cli.GPUName(doc.GPUs[0]), doc.GPUs[0].Shares[0].Called, doc.GPUs[0].Shares[1].Called}
	if want := []string{"a:7_3", "a:9", "a:0", "a:7_3", "a:4"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	reply := whyAnswer{JobReply: api.JobReply{Job: api.Job{ID: 1}, Queue: &api.Queue{Ahead: []api.Ahead{{Ahead: job.Ahead{Called: "2"}}, {Ahead: job.Ahead{Called: "x\x1b"}}}}}}
	afar.NameDocument("a", &reply)
	if q := reply.Queue.Ahead; reply.Job.Called() != "a:1" || q[0].Called != "a:2" || q[1].Called != "a:0" {
		t.Errorf("%+v", reply)
	}
}
