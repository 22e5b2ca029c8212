package gpus

import (
	"testing"

	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

// A process in the slice of a job counts as a process of that job only if the job belongs to the
// claimed user, runs, and has Docker as its engine. Whoever may use Docker can name any slice.
func TestClaims(t *testing.T) {
	jobs := tracked.NewBook(1)
	for id, engine := range map[job.ID]contract.Engine{7: contract.Docker, 8: contract.Podman} {
		l := &tracked.Job{Job: &job.Job{
			ID: id, Owner: job.Owner{UID: 1001}, State: job.Running, Attempt: &job.Attempt{Number: 1},
			Request: job.Request{Derived: job.Derived{ContainerEngine: engine}},
		}}
		jobs.Add(l)
		jobs.Sort(l)
	}
	for pid, c := range map[int]struct {
		claim Claim
		want  bool
	}{
		1: {Claim{1001, 7}, true}, 2: {Claim{1002, 7}, false}, 3: {Claim{1001, 8}, false}, 4: {Claim{1001, 9}, false},
	} {
		if id, ok := (&Sample{Claims: map[int]Claim{pid: c.claim}}).jobOf(pid, &jobs); ok != c.want || ok && id != c.claim.Job {
			t.Errorf("%+v: job %d, %t", c.claim, id, ok)
		}
	}
	if id, ok := (&Sample{Jobs: map[int]job.ID{5: 8}}).jobOf(5, &jobs); !ok || id != 8 {
		t.Errorf("a process in a unit: job %d, %t", id, ok)
	}
	if _, ok := (&Sample{}).jobOf(6, &jobs); ok {
		t.Error("a process elsewhere is a job's")
	}
}
