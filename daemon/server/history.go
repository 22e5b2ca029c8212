package server

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/report"
)

// historyWords are the query words of the history.
var historyWords = []string{
	"ids", "array", "since", "until", "user", "uid", "states", "name", "tag", "order", "attempts", "limit", "after",
}

// historyTime is how long a part of the history may take to find. A filter that matches
// few of many jobs takes longest.
const historyTime = 20 * time.Second

// history answers with a part of the jobs that have ended.
func (s *Server) history(r *request) (any, error) {
	q, err := s.parsePast(r)
	if err != nil {
		return nil, err
	}
	leave, err := s.reportTurn(r)
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
		case j.Tasks != nil && j.Tasks.Became() > 0 && q.IDs == nil: // its tasks are there
		case len(attempts) == 0:
			reply.Jobs = append(reply.Jobs, names.renderPast(j))
		default:
			for k := range attempts {
				reply.Jobs = append(reply.Jobs, names.renderPast(asAttempt(j, &attempts[k])))
			}
		}
	}
	return reply, nil
}

// asAttempt is a job as it was when the attempt had ended.
func asAttempt(j *job.Job, a *job.Attempt) *job.Job {
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

// renderPast is a job that has ended as everybody may see it.
func (n *namer) renderPast(j *job.Job) api.PastJob {
	out := api.PastJob{Job: n.renderJob(&job.JobView{Job: *j})}
	a := j.Attempt
	if a == nil {
		return out
	}
	run := job.RunOf(j, a)
	out.EligibleAt = moment(a.EligibleAt)
	if waited, ok := a.Waited(); ok {
		out.WaitSeconds = known(waited.Seconds())
	}
	if !a.StartedAt.IsZero() {
		out.ElapsedSeconds = known(a.Ran(a.EndedAt).Seconds())
	}
	out.GPUSeconds = max(0, a.EndedAt.Sub(a.PlacedAt).Seconds()) * float64(a.Milli()) / job.WholeGPU
	addUses(&out, a.GPUs)
	out.Efficiency = renderEfficiency(report.EfficiencyOf(&run, a.EndedAt))
	return out
}

// addUses adds what the job used of all its GPUs; what one of them does not tell is
// unknown.
func addUses(out *api.PastJob, gpus []job.Allocation) {
	if len(gpus) == 0 {
		return
	}
	joules, mean, peak, busy := 0.0, int64(0), int64(0), -1
	for i := range gpus {
		u := gpus[i].Use
		joules, mean, peak = together(joules, u.Joules()), together(mean, u.MeanBytes()), peak+u.PeakBytes
		busy = max(busy, u.PeakPercent())
	}
	out.EnergyJoules, out.GPUMeanBytes, out.GPUBusyPeak = known(joules), known(mean), known(busy)
	if peak > 0 || mean >= 0 {
		out.GPUPeakBytes = known(peak)
	}
}

// together is the sum, and -1 where a part of it is unknown.
func together[T int64 | float64](sum, part T) T {
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
	words := r.URL.Query()
	q.Name, q.Attempts = words.Get("name"), words.Get("attempts") == "1"
	switch order := words.Get("order"); order {
	case "", "oldest":
	case "newest":
		q.Newest = true
	default:
		return q, unknownWord("order", order, []string{"oldest", "newest"})
	}
	if text := words.Get("limit"); text != "" {
		if q.Limit, err = strconv.Atoi(text); err != nil || q.Limit < 1 || q.Limit > job.MaxPast {
			return q, usagef("%q is not a number of ended jobs: use 1 to %d", text, job.MaxPast)
		}
	}
	if q.From, q.To, err = parseWindow(words.Get("since"), words.Get("until")); err != nil {
		return q, err
	}
	if q.After, err = job.ParseCursor(words.Get("after")); err != nil {
		return q, usagef("%s", err)
	}
	if q.States, err = parseEnds(words.Get("states")); err != nil {
		return q, err
	}
	if text := words.Get("tag"); text != "" {
		if q.Tag, err = job.ParseTag(text); err != nil {
			return q, usagef("%s", err)
		}
	}
	if q.Array, err = parseArray(words.Get("array")); err != nil {
		return q, err
	}
	if text := words.Get("ids"); text != "" {
		if q.IDs, err = s.parseNames(r.Context(), text); err != nil {
			return q, err
		}
	}
	q.UID, q.User, err = s.whose(r, words.Get("uid"), words.Get("user"))
	return q, err
}

// parseWindow reads from when and until when; "" is no bound.
func parseWindow(since, until string) (from, to time.Time, err error) {
	if from, err = parseInstant(since); err == nil {
		to, err = parseInstant(until)
	}
	if err == nil && !from.IsZero() && !to.IsZero() && !from.Before(to) {
		err = usagef("nothing is between %s and %s: the beginning is not before the end", since, until)
	}
	return from, to, err
}

func parseInstant(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return at, usagef("%q is not a time such as 2026-11-22T08:00:00Z", text)
	}
	return at, nil
}

// parseEnds reads states in which a job has ended.
func parseEnds(text string) (list []job.State, err error) {
	if text == "" {
		return nil, nil
	}
	for word := range strings.SplitSeq(text, ",") {
		switch st := job.State(word); {
		case !st.Valid():
			return nil, unknownState(word)
		case !st.Terminal():
			return nil, usagef("a job that is %s has not ended: see 'gpusched list --state %s'", word, word)
		default:
			list = append(list, st)
		}
	}
	return list, nil
}
