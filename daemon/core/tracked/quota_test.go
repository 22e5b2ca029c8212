package tracked

import (
	"strings"
	"testing"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/words"
)

// A change of a job may keep the dependencies that the job has already.
func TestDependenciesOfAPerson(t *testing.T) {
	const most = job.MaxOpenDependencies
	for _, c := range []struct {
		has, open, had int
		refused        bool
	}{{most - 1, 1, 0, false}, {most, 1, 0, true}, {most, 1, 1, false}, {most, 3, 2, true}, {most + 5, 0, 0, false}} {
		deps := NewDependencies()
		deps.edges[1001] = c.has
		if refusal := deps.EdgesQuota(&job.Job{Owner: job.Owner{UID: 1001}}, c.open, c.had); (refusal != nil) != c.refused {
			t.Errorf("%+v: %v", c, refusal)
		}
	}
}

// The total weight of a person's jobs is bounded, but a change that makes a job lighter is allowed.
func TestBytesOfAPerson(t *testing.T) {
	j := job.Job{Owner: job.Owner{UID: 1001}, Life: job.Life{Bytes: 1 << 20}}
	weight := j.Weight()
	for _, c := range []struct {
		most, have, before int64
		refused            bool
	}{
		{0, 100 * weight, 0, false},
		{3 * weight, 2 * weight, 0, false},
		{3*weight - 1, 2 * weight, 0, true},
		{2*weight - 10, 2*weight - 10, weight - 10, true}, // heavier by 10
		{2 * weight, 2*weight - 10, weight - 10, false},
		{weight, 3 * weight, weight, false}, // as heavy as before
		{weight, 3 * weight, weight + 1, false},
	} {
		jobs := NewBook(1)
		jobs.bytes[1001] = c.have
		if refusal := jobs.BytesQuota(&j, c.before, c.most); (refusal != nil) != c.refused {
			t.Errorf("%+v: %v", c, refusal)
		} else if add := "would add " + job.FormatSize(weight-c.before); refusal != nil && !strings.Contains(words.Error(refusal), add) {
			t.Errorf("%+v: %v does not say that it %s", c, refusal, add)
		}
	}
}
