package server

import (
	"cmp"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/words"
)

// defaultHorizon is the length of a plan whose request gives no length.
const defaultHorizon = 24 * time.Hour

// handlePlan answers a request with the plan for each GPU.
func (s *Server) handlePlan(r *request) (any, error) {
	horizon := cmp.Or(time.Duration(r.query.(*api.PlanQuery).Seconds)*time.Second, defaultHorizon)
	if err := s.limits.takeListingSlot(r); err != nil {
		return nil, err
	}
	c, err := s.backend(r.Context()).Course(r.Context())
	if err != nil {
		return nil, err
	}
	return renderPlan(c, horizon), nil
}

// renderPlan converts a plan, without the jobs that begin after the horizon. It changes only
// copies, because other replies share the job.Course.
func renderPlan(c job.Course, horizon time.Duration) api.PlanReply {
	if until := c.At.Add(horizon); until.Before(c.Until) {
		c.Until = until
	}
	planned := map[job.ID]bool{}
	all := c.GPUs
	c.GPUs = make([]job.GPUCourse, len(all))
	for i, g := range all {
		c.GPUs[i] = g
		c.GPUs[i].Stays = []job.Stay{}
		for _, s := range g.Stays {
			if !s.From.Before(c.Until) {
				continue
			}
			if s.Kind == job.StayPlanned {
				planned[s.Job] = true
			}
			s.From, s.Until, s.Late = moment(s.From), moment(s.Until), moment(s.Late)
			s.Sentence = words.Say(s.Detail)
			c.GPUs[i].Stays = append(c.GPUs[i].Stays, s)
		}
	}
	c.At, c.Until = moment(c.At), moment(c.Until)
	return api.PlanReply{Schema: api.Schema, Course: c, Planned: len(planned)}
}
