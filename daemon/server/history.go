package server

import (
	"context"
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/report"
)

// historyTime limits the time to make a page of history or a report. A page takes longest if few of
// very many jobs match its filter.
const historyTime = 20 * time.Second

// handleHistory answers a request with a page of ended jobs.
func (s *Server) handleHistory(r *request) (any, error) {
	q, err := s.parsePast(r)
	if err != nil {
		return nil, err
	}
	leave, err := s.limits.takeReportSlot(r)
	if err != nil {
		return nil, err
	}
	defer leave()
	ctx, cancel := context.WithTimeout(r.Context(), historyTime)
	defer cancel()
	past, err := s.backend(ctx).Past(ctx, q)
	if err != nil {
		return nil, tooLong(ctx, err)
	}
	reply := api.HistoryReply{Schema: api.Schema, Jobs: []api.PastJob{}, Next: past.Next.String()}
	names := s.namer()
	for i := range past.Jobs {
		j := &past.Jobs[i]
		switch attempts := past.Attempts[j.ID]; {
		case j.Tasks != nil && j.Tasks.Became() > 0 && q.IDs == nil: // each of its tasks has a row of its own
		case len(attempts) == 0:
			reply.Jobs = append(reply.Jobs, names.renderPast(j))
		default:
			for k := range attempts {
				reply.Jobs = append(reply.Jobs, names.renderPast(jobAtAttempt(j, &attempts[k])))
			}
		}
	}
	return reply, nil
}

// jobAtAttempt returns the job in the state that it had at the end of an attempt.
func jobAtAttempt(j *job.Job, a *job.Attempt) *job.Job {
	one := *j
	one.Attempt = a
	if a.Result != nil {
		one.Result, one.State = a.Result, a.Result.Outcome
	}
	if !a.EndedAt.IsZero() {
		one.ChangedAt = a.EndedAt
	}
	return &one
}

// renderPast converts an ended job to the form that everybody may see.
func (n *namer) renderPast(j *job.Job) api.PastJob {
	out := api.PastJob{Job: n.renderJob(&job.JobView{Job: *j})}
	a := j.Attempt
	if a == nil {
		return out
	}
	run := job.RunOf(j, a)
	out.EligibleAt = moment(a.EligibleAt)
	if waited, ok := a.Waited(); ok {
		out.WaitSeconds = orNil(waited.Seconds())
	}
	if !a.StartedAt.IsZero() {
		out.ElapsedSeconds = orNil(a.Ran(a.EndedAt).Seconds())
	}
	out.GPUSeconds = max(0, a.EndedAt.Sub(a.PlacedAt).Seconds()) * float64(a.Milli()) / job.WholeGPU
	addUses(&out, a.GPUs)
	out.Efficiency = renderEfficiency(report.EfficiencyOf(&run, a.EndedAt))
	return out
}

// addUses adds what the job used, as a sum over its GPUs. If the use of one GPU is unknown, the sum
// is unknown.
func addUses(out *api.PastJob, gpus []job.Allocation) {
	if len(gpus) == 0 {
		return
	}
	joules, mean, peak, busy := 0.0, int64(0), int64(0), -1
	for i := range gpus {
		u := gpus[i].Use
		joules, mean, peak = sumKnown(joules, u.Joules()), sumKnown(mean, u.MeanBytes()), peak+u.PeakBytes
		busy = max(busy, u.PeakPercent())
	}
	out.EnergyJoules, out.GPUMeanBytes, out.GPUBusyPeak = orNil(joules), orNil(mean), orNil(busy)
	if peak > 0 || mean >= 0 {
		out.GPUPeakBytes = orNil(peak)
	}
}

// sumKnown returns the sum of two values, or -1 if one of them is below 0, which means unknown.
func sumKnown[T int64 | float64](sum, part T) T {
	if sum < 0 || part < 0 {
		return -1
	}
	return sum + part
}

func renderEfficiency(e report.Efficiency) api.Efficiency {
	return api.Efficiency{
		GPU: e.GPU.Percent(), GPUMem: e.GPUMem.Percent(), Mem: e.Mem.Percent(), CPU: e.CPU.Percent(), Time: e.Time.Percent(),
	}
}

func (s *Server) parsePast(r *request) (q job.PastQuery, err error) {
	in := r.query.(*api.HistoryQuery)
	q = job.PastQuery{
		From: in.Since, To: in.Until, States: in.States, Name: in.Name, Array: in.Array,
		Newest: in.Order == "newest", Attempts: in.Attempts, Limit: in.Limit,
	}
	if orders := []string{"", "oldest", "newest"}; !slices.Contains(orders, in.Order) {
		return q, api.UnknownWord("order", in.Order, orders[1:])
	}
	if err = checkWindow(q.From, q.To); err != nil {
		return q, err
	}
	for _, state := range q.States {
		if !state.Terminal() {
			return q, usagef("a job that is %s has not ended: see 'gpusched list --state %s'", state, state)
		}
	}
	if q.After, err = job.ParseCursor(in.After); err != nil {
		return q, usagef("%s", err)
	}
	if in.Tag != "" {
		if q.Tag, err = job.ParseTag(in.Tag); err != nil {
			return q, usagef("%s", err)
		}
	}
	if in.IDs != "" {
		if q.IDs, _, err = s.jobs.parseNames(r.Context(), in.IDs); err != nil {
			return q, err
		}
	}
	q.UID, q.User, err = s.parseOwner(r, in.UID, in.User)
	return q, err
}

// checkWindow refuses an empty period. A zero time means that the period has no limit on that side.
func checkWindow(since, until time.Time) error {
	if !since.IsZero() && !until.IsZero() && !since.Before(until) {
		return usagef("the start, %s, is not before the end, %s",
			since.Format(time.RFC3339Nano), until.Format(time.RFC3339Nano))
	}
	return nil
}
