package core_test

import (
	"strings"
	"testing"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/words"
)

// The stored bytes of a user's live jobs are bounded. Those bytes that are also kept in memory
// count eightfold. When a job ends, its bytes no longer count. After a restart, the count is the
// same. Other users are not affected, and a change that makes a job smaller is always allowed.
func TestBytesOfAUserAreBounded(t *testing.T) {
	w := newWorld(1, func(string, ...any) {})
	policy := w.policy
	policy.MaxBytes = 1 << 20
	w.core.Step(core.Configured{Policy: policy}, w.now)
	try := func(uid int, change func(*job.Submission)) (job.ID, *job.Refusal) {
		t.Helper()
		s := job.Submission{Owner: job.Owner{UID: uid, User: "u"}, Label: job.Label{Name: "j"}, Request: job.Request{Hold: true}}
		change(&s)
		r := w.core.Step(core.Submit{Token: 1, Submission: s}, w.now).Replies[0]
		if err := w.core.Check(); err != nil {
			t.Fatal(err)
		}
		if r.Refusal != nil {
			return 0, r.Refusal
		}
		return r.Job.ID, nil
	}
	big := func(s *job.Submission) { s.Payload.Env = []string{"A=" + strings.Repeat("x", 400<<10)} }
	first, refusal := try(1001, big)
	if _, again := try(1001, big); refusal != nil || again != nil {
		t.Fatal(refusal, again)
	}
	_, refusal = try(1001, big)
	if refusal == nil || refusal.Kind() != job.RefusedPolicy || !strings.Contains(words.Error(refusal), "804") || !strings.Contains(words.Error(refusal), "limit is 1M") {
		t.Errorf("a third: %+v", refusal)
	}
	if _, refusal := try(1002, big); refusal != nil {
		t.Errorf("another user's: %+v", refusal)
	}
	principal := func(s *job.Submission) { big(s); s.Principal = &job.Account{UID: 1001, User: "u"} }
	if _, refusal := try(100_001, principal); refusal == nil {
		t.Error("a subordinate uid has bytes of its own")
	}
	sweep := func(s *job.Submission) {
		s.Request.Array = &job.Array{Ranges: []job.Range{{First: 0, Last: 0, Step: 1}}, Params: []job.Param{{Name: "p", Values: []string{strings.Repeat("x", 50<<10)}}}}
	}
	if _, refusal := try(1001, sweep); refusal == nil {
		t.Error("what stays in memory counts once")
	}
	comment := strings.Repeat("c", 1000)
	for range 12 {
		if _, refusal = try(1001, func(s *job.Submission) { s.Label.Comment = comment }); refusal != nil {
			break
		}
	}
	command := func(what job.Command) *job.Refusal {
		what.Job = first
		r := w.core.Step(core.Command{Token: 1, Who: job.Actor{UID: 1001, User: "u"}, What: what}, w.now).Replies[0].Refusal
		if err := w.core.Check(); err != nil {
			t.Fatal(err)
		}
		return r
	}
	long, short := strings.Repeat("c", 1024), "s"
	for range 16 { // until the bound is used up
		try(1001, func(s *job.Submission) { s.Label.Comment = strings.Repeat("c", 1024) })
		try(1001, func(*job.Submission) {})
	}
	if refusal := command(job.Command{Kind: job.CommandUpdate, Change: &job.Change{Comment: &long}}); refusal == nil {
		t.Error("a change may go over the bound")
	}
	if refusal := command(job.Command{Kind: job.CommandUpdate, Change: &job.Change{Name: &short}}); refusal != nil {
		t.Errorf("a change that adds nothing: %+v", refusal)
	}
	if refusal := command(job.Command{Kind: job.CommandCancel}); refusal != nil {
		t.Fatal(refusal)
	}
	if _, refusal := try(1001, big); refusal != nil {
		t.Errorf("after one has ended: %+v", refusal)
	}
}

// Jobs of subordinate uids wait, run and use GPUs as jobs of the user to whom the uids belong.
func TestSubordinateUidsCountAsTheirUser(t *testing.T) {
	w := newWorld(4, func(string, ...any) {})
	policy := w.policy
	policy.Quotas.Users = map[string]job.Quota{"alice": {Queued: 3}}
	w.core.Step(core.Configured{Policy: policy}, w.now)
	for i, refused := range []bool{false, false, false, true} {
		s := job.Submission{
			Owner: job.Owner{UID: 100_000 + i, User: "100000"}, Principal: &job.Account{UID: 1001, User: "alice"},
			Label: job.Label{Name: "j"}, Request: job.Request{Hold: true},
		}
		r := w.core.Step(core.Submit{Token: 1, Submission: s}, w.now).Replies[0]
		if (r.Refusal != nil) != refused {
			t.Errorf("submission %d: %+v", i, r.Refusal)
		}
	}
	s := job.Submission{Owner: job.Owner{UID: 1001, User: "alice"}, Label: job.Label{Name: "j"}}
	if r := w.core.Step(core.Submit{Token: 1, Submission: s}, w.now).Replies[0]; r.Refusal == nil {
		t.Error("alice may have more waiting than all of her containers together")
	}
}
