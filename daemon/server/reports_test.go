package server

import (
	"encoding/json"
	"testing"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// A job that was submitted before its group had a quota is in the same row as the group's later jobs.
func TestGroupsOfReports(t *testing.T) {
	b := queue()
	ended := func(id job.ID, of job.Owner) job.JobView {
		return job.JobView{Job: job.Job{ID: id, Owner: of, State: job.Completed, SubmittedAt: noon, ChangedAt: noon, Request: job.Request{GPUMilli: 1000},
			Attempt: &job.Attempt{Number: 1, PlacedAt: noon, StartedAt: noon, EndedAt: noon, Result: &job.Result{}}, Result: &job.Result{}}}
	}
	b.View.Jobs = []job.JobView{
		ended(1, job.Owner{UID: 1001, GID: groups["lab"], User: "alice"}), ended(2, job.Owner{UID: 1001, GID: groups["lab"], User: "alice", Groups: []string{"lab"}}),
		ended(3, job.Owner{UID: 1002, GID: 1002, User: "bob"}),
	}
	_, body := ask(testServer(b, nil), root, "GET", "/v1/report?by=group&since=2026-01-01T00:00:00Z", "")
	var reply api.ReportReply
	if err := json.Unmarshal([]byte(body), &reply); err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, r := range reply.Rows {
		got[r.Keys[0]] = r.Jobs
	}
	if len(reply.Rows) != 2 || got["lab"] != 2 || got["gid 1002"] != 1 {
		t.Errorf("%s", body)
	}
}
