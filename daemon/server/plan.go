package server

import (
	"cmp"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/words"
)

// defaultHorizon is how far ahead a plan is told that does not say.
const defaultHorizon = 24 * time.Hour

// plan answers with what becomes of each GPU.
func (s *Server) plan(r *request) (any, error) {
	horizon := cmp.Or(time.Duration(r.query.(*api.PlanQuery).Seconds)*time.Second, defaultHorizon)
	if err := s.turn(r, &s.listings, maxListings); err != nil {
		return nil, err
	}
	c, err := s.backend(r.Context()).Course(r.Context())
	if err != nil {
		return nil, err
	}
	return renderPlan(&c, horizon), nil
}

// renderPlan leaves out what begins after the horizon.
func renderPlan(c *job.Course, horizon time.Duration) api.PlanReply {
	until := c.At.Add(horizon)
	if c.Until.Before(until) {
		until = c.Until
	}
	out := api.PlanReply{Schema: api.Schema, At: moment(c.At), Until: moment(until), GPUs: []api.GPUPlan{}}
	planned := map[job.ID]bool{}
	for i := range c.GPUs {
		g := &c.GPUs[i]
		row := api.GPUPlan{Index: g.Index, UUID: g.UUID, Name: g.Name, State: g.State, Spans: []api.Span{}}
		for k := range g.Stays {
			if stay := &g.Stays[k]; stay.From.Before(until) {
				row.Spans = append(row.Spans, renderSpan(stay))
				planned[stay.Job] = planned[stay.Job] || stay.Kind == job.StayPlanned
			}
		}
		out.GPUs = append(out.GPUs, row)
	}
	out.Waiting, out.Closed = c.Waiting, c.Closed
	for _, is := range planned {
		if is {
			out.Planned++
		}
	}
	return out
}

func renderSpan(s *job.Stay) api.Span {
	return api.Span{
		Kind: s.Kind, Job: s.Job, Called: s.Called, User: s.User, Name: s.Name, Milli: s.Milli,
		From: moment(s.From), Until: moment(s.Until), LateUntil: moment(s.Late), Detail: words.Say(s.Detail),
	}
}
