package client

import (
	"strings"
	"testing"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// Slurm reports when a job is expected to start, but not which jobs are ahead of it.
func TestWhyWithoutAQueue(t *testing.T) {
	out, b := screen(80, false)
	lines := (&app{startedWith: startedWith{out: out}}).writeQueue(api.Job{ID: 7, State: job.Queued, ExpectedStart: noon}, nil)
	out.W.Flush()
	if got := b.String(); lines != 1 || !strings.HasPrefix(got, "job 7 is expected to start") || strings.Contains(got, "ahead") {
		t.Errorf("%d lines: %q", lines, got)
	}
}
