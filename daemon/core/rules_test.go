package core

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/core/site"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/words"
)

var noon = time.Date(2026, 1, 4, 12, 0, 0, 0, time.UTC)

// startedCore returns a core that has been told that no units exist.
func startedCore(p site.Policy, r job.Restored) *Core {
	c := New(p, "boot1", r)
	c.Step(Listed{Boot: "boot1"}, noon)
	return c
}

func asks(change func(*job.Request)) job.Submission {
	s := job.Submission{Owner: job.Owner{UID: 1001, User: "alice"}, Label: job.Label{Name: "j"}}
	change(&s.Request)
	return s
}

// Each of the site's rules is tested at its limit and beyond the limit.
func TestSiteRules(t *testing.T) {
	hours := func(n int) func(*job.Request) {
		return func(r *job.Request) { r.TimeLimit = job.Span(n) * job.Span(time.Hour) }
	}
	grace := func(d time.Duration) job.Submission {
		s := asks(hours(1))
		s.Request.Grace = new(job.Span(d))
		return s
	}
	low := job.Priority{Class: job.Low}
	for name, c := range map[string]struct {
		policy         site.Policy
		within, beyond job.Submission
		want           string
	}{
		"time":    {site.Policy{MaxTime: 2 * time.Hour}, asks(hours(2)), asks(hours(3)), "the time limit 3h is above this site's longest, 2h"},
		"grace":   {site.Policy{MaxGrace: time.Minute}, grace(time.Minute), grace(time.Minute + time.Second), "the grace time 1m1s is above"},
		"retries": {site.Policy{MaxRetries: 2}, asks(func(r *job.Request) { r.Retries = 2 }), asks(func(r *job.Request) { r.Retries = 3 }), "--retries 3 is more"},
		"memory": {site.Policy{MaxMemBytes: 8}, asks(func(r *job.Request) { r.MemBytes = 8 }), asks(func(r *job.Request) { r.MemBytes = 9 }),
			"more than this site allows a job"},
		"time of a class": {
			site.Policy{ClassMaxTime: map[job.Class]time.Duration{job.Low: time.Hour}},
			asks(func(r *job.Request) { r.Priority, r.TimeLimit = low, job.Span(time.Hour) }),
			asks(func(r *job.Request) { r.Priority, r.TimeLimit = low, 2*job.Span(time.Hour) }),
			"the time limit 2h is above the longest of class low, 1h",
		},
		"time of another class": {
			site.Policy{ClassMaxTime: map[job.Class]time.Duration{job.Low: time.Hour}, MaxTime: 3 * time.Hour},
			asks(hours(2)), asks(hours(4)), "above this site's longest",
		},
	} {
		core := startedCore(c.policy, job.Restored{})
		if _, _, refusal := core.Try(c.within, noon); refusal != nil {
			t.Errorf("%s: %v", name, refusal)
		}
		if _, _, refusal := core.Try(c.beyond, noon); refusal == nil || refusal.Kind() != job.RefusedPolicy || !strings.Contains(words.Error(refusal), c.want) {
			t.Errorf("%s: %v, want %q", name, refusal, c.want)
		}
	}
}

// A job that names no number of retries gets the site's default. A job may also ask for no retries.
func TestDefaultRetries(t *testing.T) {
	for asked, want := range map[int]int{0: 2, job.NoRetries: 0, 1: 1, 3: 3} {
		s := asks(func(r *job.Request) { r.Retries = asked })
		startedCore(site.Policy{MaxRetries: 10, DefaultRetries: 2, DefaultBackoff: time.Minute}, job.Restored{}).applyDefaults(&s)
		if r := s.Request; r.Retries != want || (r.Backoff > 0) != (want > 0) {
			t.Errorf("%d asked: %d, back-off %s, want %d", asked, r.Retries, r.Backoff, want)
		}
	}
}

// Options that a job leaves open get the site's defaults. Defaults never exceed the site's rules.
func TestDefaultsKeepToTheRules(t *testing.T) {
	perGPU := func(milli, gpus int) int64 { return int64(milli / job.WholeGPU * 10) }
	for name, c := range map[string]struct {
		policy site.Policy
		class  job.Class
		time   time.Duration
		mem    int64
	}{
		"nothing":             {site.Policy{}, job.Normal, 0, 0},
		"default":             {site.Policy{DefaultTime: time.Hour, MaxTime: 2 * time.Hour}, job.Normal, time.Hour, 0},
		"most":                {site.Policy{MaxTime: 2 * time.Hour}, job.Normal, 2 * time.Hour, 0},
		"most of the class":   {site.Policy{DefaultTime: 2 * time.Hour, ClassMaxTime: map[job.Class]time.Duration{job.Low: time.Hour}}, job.Low, time.Hour, 0},
		"less than the class": {site.Policy{DefaultTime: time.Hour, ClassMaxTime: map[job.Class]time.Duration{job.Low: 2 * time.Hour}}, job.Low, time.Hour, 0},
		"of the class alone":  {site.Policy{ClassMaxTime: map[job.Class]time.Duration{job.Low: 2 * time.Hour}}, job.Low, 2 * time.Hour, 0},
		"of no class":         {site.Policy{ClassMaxTime: map[job.Class]time.Duration{job.Low: 2 * time.Hour}}, job.Normal, 0, 0},
		"memory":              {site.Policy{DefaultMem: perGPU}, job.Normal, 0, 20},
		"most memory":         {site.Policy{DefaultMem: perGPU, MaxMemBytes: 15}, job.Normal, 0, 15},
		"less than the most":  {site.Policy{DefaultMem: perGPU, MaxMemBytes: 30}, job.Normal, 0, 20},
		"instead of no bound": {site.Policy{MaxMemBytes: 15}, job.Normal, 0, 15},
		"of the machine":      {site.Policy{DefaultMem: perGPU, HostMemBytes: 12}, job.Normal, 0, 12},
	} {
		s := asks(func(r *job.Request) { r.GPUMilli, r.Priority.Class = 2000, c.class })
		startedCore(c.policy, job.Restored{}).applyDefaults(&s)
		if s.Request.TimeLimit.Duration() != c.time || s.Request.MemBytes != c.mem || s.Request.DefaultedMem != (c.mem > 0) {
			t.Errorf("%s: %s and %d bytes (by default: %t), want %s and %d", name, s.Request.TimeLimit, s.Request.MemBytes, s.Request.DefaultedMem, c.time, c.mem)
		}
	}
}

// A submission is refused if too many jobs of all users, or of the submitter, wait already. It is
// also refused if the submitter's jobs together are too large.
func TestFullQueues(t *testing.T) {
	held := func(id job.ID, uid int, user string, groups ...string) job.Job {
		o := job.Owner{UID: uid, User: user, Groups: groups}
		return job.Job{ID: id, Owner: o, State: job.Queued, SubmittedAt: noon, ChangedAt: noon, Life: job.Life{Held: "root"}}
	}
	waiting := []job.Job{held(1, 1001, "alice", "lab"), held(2, 1002, "bob", "lab"), held(3, 1003, "carol")}
	for name, c := range map[string]struct {
		policy site.Policy
		want   string
	}{
		"room for one more":          {site.Policy{MaxQueued: 4}, ""},
		"full":                       {site.Policy{MaxQueued: 3}, "the queue is full, with 3 jobs"},
		"room for one of alice":      {site.Policy{Quotas: job.Quotas{Default: job.Quota{Queued: 2}}}, ""},
		"no room for one of alice":   {site.Policy{Quotas: job.Quotas{Default: job.Quota{Queued: 1}}}, "you have 1 job waiting"},
		"room for one of the lab":    {site.Policy{Quotas: job.Quotas{Groups: map[string]job.Quota{"lab": {Queued: 3}}}}, ""},
		"no room for one of the lab": {site.Policy{Quotas: job.Quotas{Groups: map[string]job.Quota{"lab": {Queued: 2}}}}, "group lab has 2 jobs waiting"},
	} {
		core := startedCore(c.policy, job.Restored{NextID: 4, Jobs: waiting})
		s := asks(func(*job.Request) {})
		s.Owner.Groups = []string{"lab"}
		_, _, refusal := core.Try(s, noon)
		if (refusal == nil) != (c.want == "") || refusal != nil && !strings.Contains(words.Error(refusal), c.want) {
			t.Errorf("%s: %v, want %q", name, refusal, c.want)
		}
	}
}

// A dry run reports whether the job would start, wait or be refused. A real submission then gets
// the same result.
func TestTryReportsWhatWouldHappen(t *testing.T) {
	past := job.Job{ID: 1, Owner: job.Owner{UID: 1001, User: "alice"}, State: job.Queued, SubmittedAt: noon, ChangedAt: noon, Life: job.Life{Held: "root"}}
	c := startedCore(site.Policy{}, job.Restored{NextID: 2, Jobs: []job.Job{past}})
	if v, _, refusal := c.Try(asks(func(*job.Request) {}), noon); refusal != nil || v.Attempt == nil || v.Attempt.Number != 1 || v.State != job.Starting {
		t.Errorf("a job that could start: %+v, %v", v, refusal)
	}
	after := func(n int) job.Submission {
		return asks(func(r *job.Request) { r.After = slices.Repeat([]job.Dependency{{Kind: job.AfterAny, Job: 1}}, n) })
	}
	if v, _, refusal := c.Try(after(1), noon); refusal != nil || v.Attempt != nil || len(v.Reasons) != 1 || v.Reasons[0].Code != job.ReasonDependency {
		t.Errorf("a job behind another: %+v, %v", v, refusal)
	}
	if _, _, refusal := c.Try(asks(func(r *job.Request) { r.After = []job.Dependency{{Kind: job.AfterAny, Job: 9}} }), noon); refusal == nil {
		t.Error("a job behind one that nobody knows")
	}
	c.deps.CountEdges(c.jobs.Get(1), job.MaxOpenDependencies)
	if _, _, refusal := c.Try(after(1), noon); refusal == nil {
		t.Error("a dependency beyond the most that a person may have")
	}
	if v, _, refusal := c.Try(asks(func(*job.Request) {}), noon); refusal != nil || v.Attempt == nil {
		t.Errorf("after those, a job that could start: %+v, %v", v, refusal)
	}
}

// A missing limit counts as the largest limit, so no change makes the request of a job without any
// limits larger. (A job that asks for more begins its wait anew.)
func TestLargerRequests(t *testing.T) {
	for _, c := range []struct {
		old, now job.Request
		want     bool
	}{
		{job.Request{}, job.Request{}, false},
		{job.Request{}, job.Request{MemBytes: 5, CPUs: 5, TimeLimit: 5}, false},
		{job.Request{MemBytes: 5}, job.Request{}, true},
		{job.Request{MemBytes: 5}, job.Request{MemBytes: 5}, false},
		{job.Request{MemBytes: 5}, job.Request{MemBytes: 6}, true},
		{job.Request{CPUs: 5}, job.Request{CPUs: 6}, true},
		{job.Request{TimeLimit: 5}, job.Request{TimeLimit: 4}, false},
		{job.Request{TimeLimit: 5}, job.Request{TimeLimit: 6}, true},
		{job.Request{CPUs: 5}, job.Request{}, true},
		{job.Request{GPUMilli: 5}, job.Request{GPUMilli: 6}, true},
		{job.Request{GPUMemBytes: 5}, job.Request{GPUMemBytes: 6}, true},
		{job.Request{Array: &job.Array{Limit: 2}}, job.Request{Array: &job.Array{Limit: 2}}, false},
		{job.Request{Array: &job.Array{Limit: 2}}, job.Request{Array: &job.Array{Limit: 3}}, true},
		{job.Request{Array: &job.Array{Limit: 2}}, job.Request{Array: &job.Array{}}, true},
		{job.Request{Array: &job.Array{}}, job.Request{Array: &job.Array{Limit: 2}}, false},
	} {
		if got := isLarger(&c.old, &c.now); got != c.want {
			t.Errorf("%+v after %+v: %t", c.now, c.old, got)
		}
	}
}
