package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/gpusched/gpusched/cmd/loopback"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/report"
)

// windows are the days that the history can be looked at for.
var windows = []int{7, 30, 90}

const (
	historyKept = time.Minute      // an answer is shown for so long
	brokenKept  = 5 * time.Second  // and that there is none
	historyTime = 30 * time.Second // that a report of many jobs may take
)

// past is what jobs took of the machine in some days.
type past struct {
	asked  time.Time
	days   api.ReportReply // by day
	users  api.ReportReply // by user and day; no rows: there are too many
	gpus   int             // of the machine, now
	err    error           // why there is nothing newer than at
	at     time.Time       // zero: there is nothing
	length int             // days
}

// archive asks for the past for all who look: one question at a time, and the same one once a
// minute at most (invariant 7).
type archive struct {
	client *api.Client
	turn   chan struct{}
	kept   map[int]past // whoever has the turn reads and writes it
}

// of returns the last days up to now, or up to a minute ago.
func (a *archive) of(ctx context.Context, days int) (past, error) {
	select {
	case a.turn <- struct{}{}:
		defer func() { <-a.turn }()
	case <-ctx.Done():
		return past{}, ctx.Err()
	}
	p, keep := a.kept[days], historyKept
	if p.err != nil {
		keep = brokenKept
	}
	if !p.asked.IsZero() && time.Since(p.asked) < keep {
		return p, nil
	}
	// Who goes meanwhile does not end the question: the next one has the answer.
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), historyTime)
	defer cancel()
	fresh, err := a.ask(limited, days)
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("the scheduler did not answer within %v", historyTime)
	}
	if p.err = err; err == nil {
		p = fresh
		p.at = time.Now()
	}
	p.asked, p.length = time.Now(), days
	a.kept[days] = p
	return p, nil
}

// ask asks the scheduler. Days are by the clock of this machine, as in 'gpusched report'.
func (a *archive) ask(ctx context.Context, days int) (p past, err error) {
	now := time.Now()
	y, m, d := now.Date()
	q := api.ReportQuery{By: "day", Since: time.Date(y, m, d-days+1, 0, 0, 0, 0, now.Location())}
	q.Zone = report.ZoneOf(now.Location(), q.Since, now).String()
	if p.days, err = api.Report(ctx, a.client, q); err != nil {
		return p, err
	}
	q.By = "user,day"
	var refused *api.Error
	if p.users, err = api.Report(ctx, a.client, q); errors.As(err, &refused) && refused.Code == api.CodeUsage {
		p.users, err = api.ReportReply{}, nil // more rows than a report has
	}
	if err != nil {
		return p, err
	}
	gpus, err := api.GPUs(ctx, a.client)
	p.gpus = len(gpus.GPUs)
	return p, err
}

// history is the page about the last days: it needs no script.
func (s *site) history(w http.ResponseWriter, r *http.Request) {
	defer s.watcher.look()()
	days := 30
	if text := r.URL.Query().Get("days"); text != "" {
		var err error
		if days, err = strconv.Atoi(text); err != nil || !slices.Contains(windows, days) {
			w.WriteHeader(http.StatusNotFound)
			s.write(w, "refused", &api.Error{Message: fmt.Sprintf("there are pages about the last %d, %d and %d days", windows[0], windows[1], windows[2])})
			return
		}
	}
	done := loopback.Hold(r)
	p, err := s.archive.of(r.Context(), days)
	done()
	if err != nil {
		return // the browser has gone
	}
	if p.at.IsZero() {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	s.write(w, "history", historyViewOf(s.host, p, time.Local))
}
