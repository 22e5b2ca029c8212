package server

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/report"
	"github.com/gpusched/gpusched/units/contract"
)

// The number of pages of history and reports that are made at the same time, for one user and in
// total. Each page needs its own connection to the state file, and keeps a CPU busy.
const (
	maxReports     = 1
	maxReportsEver = 2
)

// takeReportSlot waits for a slot to read much of the state file. It first waits for one of the
// user's own slots, so that a user with many requests does not take common slots from others. The
// caller calls the returned function once the answer is made. This frees the common slot, so that a
// client that reads slowly does not delay others.
func (l *limits) takeReportSlot(r *request) (leave func(), err error) {
	if !r.reports {
		if err := l.takeSlot(r, &l.reports, maxReports); err != nil {
			return nil, err
		}
		r.reports = true
	}
	ctx, cancel := context.WithTimeout(r.Context(), slotTime)
	defer cancel()
	leave, err = l.allReports.Enter(ctx, struct{}{}, maxReportsEver)
	if err != nil {
		return nil, retryLater(r, time.Second, errTooMany("reports"))
	}
	return leave, nil
}

// tooLong returns a clearer error if the time limit caused the given error.
func tooLong(ctx context.Context, err error) error {
	var refusal *job.Refusal // the backend had no free slot
	if errors.As(err, &refusal) || !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return err
	}
	return &api.Error{
		Code: api.CodeUnavailable, Message: "there are too many jobs on record to answer this in time",
		Hint: "ask about a shorter period with --since and --until",
	}
}

// handleReport answers with sums over the jobs of a period.
func (s *Server) handleReport(r *request) (any, error) {
	in := r.query.(*api.ReportQuery)
	q, err := parseReport(in)
	if err != nil {
		return nil, err
	}
	tags := slices.ContainsFunc(q.By, func(d report.Dim) bool { return d.Kind == "tag" })
	runs := job.RunQuery{From: q.From, Tags: tags}
	if runs.UID, runs.User, err = s.parseOwner(r, in.UID, in.User); err != nil {
		return nil, err
	}
	book := report.NewBook(q)
	if err := s.addRuns(r, runs, book); err != nil {
		return nil, err
	}
	reply := api.ReportReply{
		Schema: api.Schema, By: job.Each(q.By, report.Dim.String),
		Rows: job.Each(book.Rows(), renderRow), Total: renderRow(book.Total),
	}
	from, to := book.Window()
	reply.Since, reply.Until = from.UTC(), to.UTC()
	return reply, nil
}

// quotaGroupNames returns the names of the groups that have a quota, by gid.
func (s *Server) quotaGroupNames() map[int]string {
	names := map[int]string{}
	for _, name := range s.opt.Config().QuotaGroups() {
		if gid, ok := s.opt.GroupID(name); ok {
			names[gid] = name
		}
	}
	return names
}

// addRuns adds the runs to the books. It needs a report slot, and takes at most historyTime.
func (s *Server) addRuns(r *request, q job.RunQuery, books ...*report.Book) error {
	leave, err := s.limits.takeReportSlot(r)
	if err != nil {
		return err
	}
	defer leave()
	ctx, cancel := context.WithTimeout(r.Context(), historyTime)
	defer cancel()
	names, groups := s.namer(), s.quotaGroupNames()
	err = s.backend(ctx).Runs(ctx, q, func(run *job.Run) error {
		if name, ok := groups[run.Owner.GID]; ok && len(run.Owner.Groups) == 0 {
			run.Owner.Groups = []string{name} // the job was submitted before the group had a quota
		}
		if run.Owner.User == strconv.Itoa(run.Owner.UID) {
			run.Owner.User = names.name(run.Owner.UID)
		}
		for _, b := range books {
			if err := b.Add(run); err != nil {
				return err
			}
		}
		return nil
	})
	if errors.Is(err, report.ErrTooMany) {
		e := usagef("%s", err)
		e.Hint = "ask about a shorter period, or by something with fewer values"
		return e
	}
	if err != nil {
		return tooLong(ctx, err)
	}
	return nil
}

// mostYears limits the period of a report.
const mostYears = 20

func parseReport(in *api.ReportQuery) (q report.Query, err error) {
	q.Now, q.From, q.To = time.Now(), in.Since, in.Until
	if err = checkWindow(q.From, q.To); err != nil {
		return q, err
	}
	if oldest := q.Now.AddDate(-mostYears, 0, 0); q.From.Before(oldest) {
		q.From = oldest
	}
	if !q.From.Before(q.Now) {
		return q, usagef("nothing has run since %s: that is in the future", in.Since.Format(time.RFC3339Nano))
	}
	if q.By, err = report.ParseDims(in.By); err != nil {
		return q, usagef("%s", err)
	}
	if q.Zone, err = report.ParseZone(in.Zone); err != nil {
		return q, usagef("%s", err)
	}
	return q, nil
}

func renderRow(w *report.Row) api.ReportRow {
	out := api.ReportRow{
		Keys: w.Keys, Jobs: w.Jobs, Ended: w.Ended, GPUHours: w.GPUSeconds / 3600,
		MemGiBHours: w.MemSeconds / 3600 / (1 << 30),
		EnergyHours: w.JoulesKnown / 3600, Wait: report.TimesOf(w.Waits), Run: report.TimesOf(w.Runs),
		Efficiency: renderEfficiency(w.Efficiency),
	}
	if w.GPUMemKnown > 0 {
		out.GPUMemGiBHours = orNil(w.GPUMemSeconds / 3600 / (1 << 30))
	}
	if w.JoulesKnown > 0 {
		out.EnergyJoules = orNil(w.Joules)
	}
	if w.BusyKnown {
		out.GPUBusyPeak = orNil(w.PeakBusy)
	}
	if w.PeakBytes > 0 {
		out.GPUPeakBytes = orNil(w.PeakBytes)
	}
	return out
}

// handleUsage answers a request with the usage, quotas and limits of the caller or another user.
// Everybody may see them, because everybody can see the user's jobs in the queue.
func (s *Server) handleUsage(r *request) (any, error) {
	in := r.query.(*api.UsageQuery)
	uid, user := &r.who.UID, r.who.User
	if name := in.User; name != "" {
		var err error
		if uid, user, err = s.parseOwner(r, nil, name); err != nil {
			return nil, err
		}
		if uid == nil {
			return nil, noAccount(name)
		}
	}
	zone, err := report.ParseZone(in.Zone)
	if err != nil {
		return nil, usagef("%s", err)
	}
	now := time.Now()
	var books []*report.Book
	from := now
	for _, p := range []report.Period{report.Day, report.Week, report.Month} {
		since := zone.Begin(now, p)
		books = append(books, report.NewBook(report.Query{From: since, Now: now}))
		if since.Before(from) {
			from = since
		}
	}
	if err := s.addRuns(r, job.RunQuery{From: from, UID: uid, User: user}, books...); err != nil {
		return nil, err
	}
	e, err := s.backend(r.Context()).Entitlement(r.Context(), *uid)
	if err != nil {
		return nil, err
	}
	out := renderEntitlement(&e)
	out.UID, out.User = *uid, s.namer().name(*uid)
	if out.User == "" {
		out.User = strconv.Itoa(*uid)
	}
	out.Engines = append(out.Engines, s.opt.engines()...)
	out.Today, out.Week, out.Month = renderRow(books[0].Total), renderRow(books[1].Total), renderRow(books[2].Total)
	return out, nil
}

func renderEntitlement(e *job.Entitlement) api.UsageReply {
	out := api.UsageReply{
		Schema: api.Schema, CountedHours: e.Used.Hours(), HalfLife: job.Span(e.HalfLife.Truncate(time.Second)),
		Quotas: append([]job.QuotaUse{}, e.Quotas...), Limits: append([]job.ClassLimit{}, e.Limits...),
		Engines: []contract.Engine{},
	}
	if e.Everyone > 0 {
		out.UsedPercent = orNil(100 * e.Used.Seconds() / e.Everyone.Seconds())
	}
	if !e.Grouped && e.Shares > 0 {
		out.EntitledPercent = orNil(100 * float64(e.Share) / float64(e.Shares))
	}
	return out
}
