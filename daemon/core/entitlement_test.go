package core_test

import (
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
)

// An entitlement shows a user's use, compared with that of all users who have jobs, and what is
// left of the quotas. A request about a user without jobs adds no account to the books.
func TestEntitlement(t *testing.T) {
	w := runningWorld(t, 2, func(r *job.Request) { r.GPUMilli, r.CPUs = 1500, 3 })
	w.policy.Quotas.Default = job.Quota{GPUMilli: 4000, Queued: 5}
	w.step(core.Configured{Policy: w.policy}, -1)
	w.queue(nil)
	w.queue(nil)
	w.now = w.now.Add(time.Hour)
	got := w.core.Entitlement(1001, w.now)
	has := map[job.QuotaKind]job.QuotaUse{}
	for _, q := range got.Quotas {
		has[q.What] = q
	}
	if q := has[job.QuotaGPUs]; q.Has != 1500 || q.Most != 4000 {
		t.Errorf("GPUs: %+v", q)
	}
	if q := has[job.QuotaQueued]; q.Has != int64(got.Waits) || got.Waits == 0 || q.Most != 5 {
		t.Errorf("waiting: %+v", q)
	}
	if q := has[job.QuotaCPUs]; q.Has < 3 || q.Most != 0 {
		t.Errorf("CPUs: %+v", q)
	}
	if got.Used <= 0 || got.Everyone != got.Used || got.Share != 1 || got.Shares != 1 || len(got.Limits) != 5 {
		t.Errorf("%+v", got)
	}
	other := w.core.Entitlement(4242, w.now)
	if other.Used != 0 || other.Everyone != got.Used || other.Shares != 2 {
		t.Errorf("one without a job: %+v", other)
	}
	if uses := w.core.Uses(); len(uses) != 1 || len(uses[1]) != 2 {
		t.Errorf("uses: %v", uses)
	}
}
