package server

import (
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/words"
)

// trialPart is the share of one CPU that a user's trials of changes may use on average.
const trialPart = 0.2

// explainJob returns what is ahead of a job in the queue. If the caller may change the job,
// explainJob also tries which changes would start the job sooner. The computing time counts against
// the user.
func (s *Server) explainJob(r *request, v *job.JobView) (*api.Queue, error) {
	e, err := s.backend(r.Context()).Explain(r.Context(), v.ID, r.person, r.who.MayControl(&v.Job))
	if err != nil {
		return nil, err
	}
	s.limits.charge(r.person, e.Took.Seconds()*float64(s.opt.Config().Limits.Requests)/trialPart)
	return renderExplained(&e, &v.Job), nil
}

func renderExplained(e *job.Explained, j *job.Job) *api.Queue {
	out := &api.Queue{Ahead: []api.Ahead{}, Omitted: e.More, Tried: e.Tried}
	for _, a := range e.Ahead {
		sentence := words.Ahead(&a, j.Called())
		a.Its, a.Own = a.Its.Rounded(), a.Own.Rounded()
		out.Ahead = append(out.Ahead, api.Ahead{Ahead: a, Sentence: sentence})
	}
	for i := range e.Sooner {
		x := &e.Sooner[i]
		options, without := words.Sooner(x, &j.Request)
		out.Sooner = append(out.Sooner, api.Sooner{
			Options: options, Without: without, If: words.SoonerIf(x), Now: x.Now, ExpectedStart: moment(x.Start.At),
			ExpectedStartFrom: moment(x.Start.From), ExpectedStartBy: moment(x.Start.By),
		})
	}
	return out
}
