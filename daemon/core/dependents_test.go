package core_test

import (
	"testing"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
)

// The total number of unmet dependencies of one person's jobs is bounded. Dependencies that are
// met, and those of other persons, do not count.
func TestOpenDependenciesAreBounded(t *testing.T) {
	w := newWorld(1, func(string, ...any) {})
	w.step(w.listed(), -1)
	submit := func(uid int, r job.Request) core.Reply {
		w.token++
		s := job.Submission{Owner: job.Owner{UID: uid, User: "u"}, Label: job.Label{Name: "j"}, Request: r}
		eff := w.core.Step(core.Submit{Token: w.token, Submission: s}, w.now)
		return eff.Replies[0]
	}
	var after []job.Dependency
	for range job.MaxDependencies {
		after = append(after, job.Dependency{Kind: job.AfterAny, Job: submit(1001, job.Request{Hold: true}).ID})
	}
	for range job.MaxOpenDependencies / job.MaxDependencies {
		if r := submit(1002, job.Request{After: after}); r.Refusal != nil {
			t.Fatal(r.Refusal)
		}
	}
	if r := submit(1002, job.Request{After: after[:1]}); r.Refusal == nil || r.Refusal.Kind() != job.RefusedPolicy {
		t.Errorf("one more: %v", r.Refusal)
	}
	if r := submit(1003, job.Request{After: after[:1]}); r.Refusal != nil {
		t.Errorf("somebody else: %v", r.Refusal)
	}
	eff := w.core.Step(core.Command{What: job.Command{Kind: job.CommandCancel, Job: after[0].Job}, Who: job.Actor{Admin: true}}, w.now)
	for _, r := range eff.Records {
		if r.Job.Owner.UID == 1002 {
			t.Errorf("the end of a job records job %d, which waits for others too", r.Job.ID)
		}
	}
	if r := submit(1002, job.Request{After: after[1:2]}); r.Refusal != nil {
		t.Errorf("after one has ended: %v", r.Refusal)
	}
	if err := w.core.Check(); err != nil {
		t.Error(err)
	}
}
