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

func (s *source) ask(ctx context.Context) (out answer, err error) {
	limited, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	defer func() {
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("the scheduler did not answer within %v", askTime)
		}
	}()
	if out.status, err = s.client.Status(limited); err != nil {
		return out, err
	}
	if out.gpus, err = s.client.GPUs(limited); err != nil {
		return out, err
	}
	query := api.ListQuery{Reasons: true, Waiting: shownWaiting, Ended: shownEnded}
	if out.list, err = s.client.List(limited, query); err != nil {
		return out, err
	}
	out.checks, out.plan = s.unwell(limited, out.status.Health), s.course(limited)
	return out, nil
}

// course is what is planned; nil: the scheduler is older than that, or can't say now.
func (s *source) course(ctx context.Context) *api.PlanReply {
	if time.Since(s.planned) < plannedIn {
		return s.plan
	}
	s.plan, s.planned = nil, time.Now()
	if reply, err := s.client.Plan(ctx, planHours*time.Hour); err == nil {
		s.plan = &reply
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
	reply, err := s.client.Health(ctx)
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
