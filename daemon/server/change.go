package server

import (
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// change converts the wire form of an update; what is absent stays absent.
func change(in api.UpdateRequest) (job.Change, error) {
	c := job.Change{
		GPUMilli: in.GPUMilli, GPUMemBytes: in.GPUMemBytes, MemBytes: in.MemBytes, CPUs: in.CPUs,
		Begin: in.Begin, ArrayLimit: in.ArrayLimit, Preemptible: in.Preemptible, Retries: in.Retries,
		Name: in.Name, Comment: in.Comment,
	}
	var p job.Problems
	if in.TimeLimitSeconds != nil {
		limit := seconds(*in.TimeLimitSeconds)
		c.TimeLimit = &limit
	}
	if in.Priority != nil {
		prio, err := job.ParsePriority(*in.Priority)
		if err != nil {
			p = append(p, err.Error())
		}
		c.Priority = &prio
	}
	if in.After != nil {
		after := dependencies(*in.After)
		c.After = &after
	}
	if c.Begin != nil {
		begin := c.Begin.UTC()
		c.Begin = &begin
	}
	if err := p.Err(); err != nil {
		return c, err
	}
	return c, c.Validate()
}

func dependencies(list []api.Dependency) []job.Dependency {
	var out []job.Dependency
	for _, d := range list {
		out = append(out, job.Dependency{Kind: job.DependencyKind(d.Kind), Job: job.ID(d.Job)})
	}
	return out
}

// moment is a time in UTC without the monotonic clock, and no time for none.
func moment(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Round(0)
}
