package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// statusCmd shows the scheduler at a glance.
type statusCmd struct {
	outputFlags
}

func (c *statusCmd) Run(ctx context.Context, a *app) error {
	reply, err := a.client.Status(ctx)
	if err != nil {
		return err
	}
	jobs := append(append([]api.Job{}, reply.Running...), reply.Waiting...)
	text := func(wide bool) { a.writeStatus(reply, jobs, wide) }
	return a.jobReport(reply, jobs, text).show(a, c.outputFlags)
}

func (a *app) writeStatus(s api.StatusReply, jobs []api.Job, wide bool) {
	t := a.out
	health := t.Paint(healthStyle(s.Health), string(s.Health))
	t.Printf("gpusched %s %s since %s: %s\n", term.Clean(s.Version), health, t.Moment(s.StartedAt), countLine(s.Counts))
	if s.Health != job.Healthy {
		t.Printf("'gpusched health' says what is wrong\n")
	}
	a.writeDrain(s.Drain)
	if line := promisedLine(&s.Host); line != "" {
		t.Printf("promised to jobs: %s\n", line)
	}
	if len(s.GPUs) > 0 {
		t.Printf("\n")
		a.writeGPUs(s.GPUs, wide)
	}
	if len(jobs) > 0 {
		t.Printf("\n")
		term.WriteTable(t, a.jobColumns(), jobs, wide)
	}
	if more := s.Counts[string(job.Queued)] - len(s.Waiting); more > 0 {
		t.Printf("and %d more that wait (see 'gpusched list')\n", more)
	}
}

// promisedLine says what jobs have of what is counted besides GPUs.
func promisedLine(h *job.HostView) string {
	var parts phrases
	parts.add(h.MemBytes > 0, "%s of %s host memory", job.FormatSize(h.PromisedMem), job.FormatSize(h.MemBytes))
	parts.add(h.CPUs > 0, "%d of %v", h.PromisedCPUs, job.CPUs(h.CPUs))
	parts.add(h.Places > 0, "%d of %d places", h.Taken, h.Places)
	return strings.Join(parts, ", ")
}

// countLine counts the live jobs by state.
func countLine(counts map[string]int) string {
	var parts []string
	for _, s := range []job.State{job.Running, job.Starting, job.Ending, job.Queued, job.Spawned} {
		if n := counts[string(s)]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	if len(parts) == 0 {
		return "no jobs"
	}
	return strings.Join(parts, ", ")
}
