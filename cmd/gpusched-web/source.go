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
	askTime   = 10 * time.Second
	checkedIn = 30 * time.Second // health is looked into no more often
	plannedIn = 10 * time.Second // nor is the plan
)

// source asks the scheduler for what a page shows.
type source struct {
	client  *api.Client
	checks  []job.Check
	checked time.Time
	plan    *api.PlanReply
	planned time.Time
}

// everything asks for all that a page shows.
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
	query := api.ListQuery{Reasons: api.WithReasons, Waiting: shownWaiting, Ended: askedEnded}
	if out.list, err = api.List(ctx, s.client, query); err != nil {
		return out, err
	}
	out.checks, out.plan = s.unwell(ctx, out.status.Health), s.course(ctx)
	return out, nil
}

// course is what is planned; nil: the scheduler can't say now.
func (s *source) course(ctx context.Context) *api.PlanReply {
	if time.Since(s.planned) >= plannedIn {
		s.plan, s.planned = nil, time.Now()
		if reply, err := api.Plan(ctx, s.client, planHours*time.Hour); err == nil {
			s.plan = &reply
		}
	}
	return s.plan
}

// unwell are the checks of a scheduler that is not healthy.
func (s *source) unwell(ctx context.Context, h job.Health) []job.Check {
	if h == job.Healthy {
		s.checked = time.Time{}
		return nil
	}
	if time.Since(s.checked) < checkedIn {
		return s.checks
	}
	reply, err := api.Health(ctx, s.client)
	if err != nil {
		return nil // that is an extra; the status stands without it
	}
	s.checks, s.checked = nil, time.Now()
	for _, c := range reply.Checks {
		if c.Health != job.Healthy {
			s.checks = append(s.checks, c)
		}
	}
	return s.checks
}
