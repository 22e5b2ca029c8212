package server

import (
	"context"
	"errors"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
)

// How many parts of the history and reports are made at once, of one user and of all. Each
// has a connection to the state file of its own, and takes a processor while it lasts.
const (
	maxReports     = 1
	maxReportsEver = 2
)

// reportTurn waits for a turn at what reads much of the state file: the user's own first,
// so that one who asks for many keeps no place that others need.
func (s *Server) reportTurn(r *request) error {
	if err := s.turn(r, &s.reports, maxReports); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), turnTime)
	defer cancel()
	leave, err := s.allReports.Enter(ctx, struct{}{}, maxReportsEver)
	if err != nil {
		return s.later(r, time.Second, errTooMany("reports"))
	}
	r.leave = append(r.leave, leave)
	return nil
}

// tooLong says so where that is what the error is about.
func tooLong(ctx context.Context, err error) error {
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return err
	}
	return &api.Error{
		Code: api.CodeUnavailable, Message: "there are too many jobs on record for that question to be answered in time",
		Hint: "ask about a shorter time (--since, --until)",
	}
}
