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

// windows are the lengths in days that a reader can choose for the history.
var windows = []int{7, 30, 90}

const (
	historyKept = time.Minute      // how long an answer is reused
	brokenKept  = 5 * time.Second  // how long a failure is reused
	historyTime = 30 * time.Second // timeout, long enough for a report of many jobs
)

// pastDays is the history of the last days.
type pastDays struct {
	asked  time.Time
	days   api.ReportReply // one row per day
	users  api.ReportReply // one row per user and day; no rows if there would be too many
	gpus   int             // number of GPUs in the machine now
	err    error           // why the answer is not newer
	at     time.Time       // time of the answer; zero before the first
	length int             // in days
}

// An archive requests the history for all viewers. It sends one request at a time, and requests
// each history at most once a minute (invariant 7).
type archive struct {
	client *api.Client
	turn   chan struct{}
	kept   map[int]pastDays // guarded by turn
}

// lastDays returns the history of the last days. The history is at most a minute old.
func (a *archive) lastDays(ctx context.Context, days int) (pastDays, error) {
	select {
	case a.turn <- struct{}{}:
		defer func() { <-a.turn }()
	case <-ctx.Done():
		return pastDays{}, ctx.Err()
	}
	p, keep := a.kept[days], historyKept
	if p.err != nil {
		keep = brokenKept
	}
	if !p.asked.IsZero() && time.Since(p.asked) < keep {
		return p, nil
	}
	// The request continues after its viewer has left: the next viewer uses the answer.
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

// ask requests the history. Days begin at midnight
// of this machine's clock, as in 'gpusched report'.
func (a *archive) ask(ctx context.Context, days int) (p pastDays, err error) {
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
		p.users, err = api.ReportReply{}, nil // the report by user would have too many rows
	}
	if err != nil {
		return p, err
	}
	gpus, err := api.GPUs(ctx, a.client)
	p.gpus = len(gpus.GPUs)
	return p, err
}

// serveHistory serves the page about the last days. The page needs no script.
func (s *site) serveHistory(w http.ResponseWriter, r *http.Request) {
	defer s.watcher.addViewer()()
	days := 30
	if text := r.URL.Query().Get("days"); text != "" {
		var err error
		if days, err = strconv.Atoi(text); err != nil || !slices.Contains(windows, days) {
			w.WriteHeader(http.StatusNotFound)
			s.write(w, "refused", &api.Error{Message: fmt.Sprintf("the history covers the last %d, %d or %d days", windows[0], windows[1], windows[2])})
			return
		}
	}
	done := loopback.Hold(r)
	p, err := s.archive.lastDays(r.Context(), days)
	done()
	if err != nil {
		return // the browser has disconnected
	}
	if p.at.IsZero() {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	s.write(w, "history", historyViewOf(s.host, p, time.Local))
}
