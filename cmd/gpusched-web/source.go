package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

const (
	askTime       = 10 * time.Second
	checkInterval = 30 * time.Second // minimum time between two health checks
	planInterval  = 10 * time.Second // minimum time between two plans
)

// A source requests the contents of the page from the scheduler.
type source struct {
	client  *api.Client
	checks  []job.Check
	checked time.Time
	plan    *api.PlanReply
	planned time.Time
}

func (s *source) everything(ctx context.Context) (answer, error) {
	limited, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	out, err := s.ask(limited)
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("the scheduler did not answer within %v", askTime)
	}
	return out, err
}

func (s *source) ask(ctx context.Context) (out answer, err error) {
	if out.status, err = api.Status(ctx, s.client); err != nil {
		return out, err
	}
	if out.gpus, err = api.GPUs(ctx, s.client); err != nil {
		return out, err
	}
	query := api.ListQuery{Reasons: api.WithReasons, Waiting: shownWaiting, Ended: requestedEnded}
	if out.list, err = api.List(ctx, s.client, query); err != nil {
		return out, err
	}
	out.checks, out.plan = s.failedChecks(ctx, out.status.Health), s.plannedCourse(ctx)
	return out, nil
}

// plannedCourse returns the plan, or nil if the scheduler cannot make one now.
func (s *source) plannedCourse(ctx context.Context) *api.PlanReply {
	if time.Since(s.planned) >= planInterval {
		s.plan, s.planned = nil, time.Now()
		if reply, err := api.Plan(ctx, s.client, planHours*time.Hour); err == nil {
			s.plan = &reply
		}
	}
	return s.plan
}

// failedChecks returns the failed checks of an unhealthy scheduler.
func (s *source) failedChecks(ctx context.Context, h job.Health) []job.Check {
	if h == job.Healthy {
		s.checked = time.Time{}
		return nil
	}
	if time.Since(s.checked) < checkInterval {
		return s.checks
	}
	reply, err := api.Health(ctx, s.client)
	if err != nil {
		return nil // the page shows the status without the checks
	}
	s.checks, s.checked = nil, time.Now()
	for _, c := range reply.Checks {
		if c.Health != job.Healthy {
			s.checks = append(s.checks, c)
		}
	}
	return s.checks
}
