package server

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/config"
	"github.com/gpusched/gpusched/daemon/slots"
)

// The bounds of invariant 4 besides those of the site.
const (
	patience    = time.Second      // a request that comes too soon is held so long at most
	turnTime    = 10 * time.Second // a request waits so long for its turn at most
	answerUnit  = 2 << 10          // bytes of an answer that count as one more request
	maxListings = 2                // of one user at once: an answer can be large
	dryRunCost  = 20               // requests that a dry run counts as: the scheduler plans for it
	exempt      = 0                // uid of root, who has no pace
)

// rateOf is the rate of one user's requests.
func rateOf(l config.Limits) rateLimit {
	return rateLimit{rate: float64(l.Requests), burst: float64(l.Burst)}
}

// throttle holds a request that comes too soon back a little, and refuses it
// where that would not be enough. Root has no pace.
func (s *Server) throttle(r *request) error {
	if r.person == exempt {
		return nil
	}
	limits := s.opt.Config().Limits
	wait := s.rates.take(r.person, rateOf(limits), patience)
	if wait > patience {
		// Who is answered at once comes back at once.
		if err := api.Pause(r.Context(), patience); err != nil {
			return err
		}
		return s.later(r, wait-patience, &api.Error{
			Code: api.CodeUnavailable, Message: fmt.Sprintf("too many requests: %s may make %d a second", r.who.User, limits.Requests),
			Hint: "try again in a moment, or ask less often",
		})
	}
	return api.Pause(r.Context(), wait)
}

// charge counts a large answer as several requests.
func (s *Server) charge(uid, bytes int) {
	if n := bytes / answerUnit; n > 0 && uid != exempt {
		s.rates.charge(uid, rateOf(s.opt.Config().Limits), float64(n))
	}
}

// turnOfDryRun waits for one of the user's turns for what is dear, and counts for it.
func (s *Server) turnOfDryRun(r *request) error {
	if r.person != exempt {
		s.rates.charge(r.person, rateOf(s.opt.Config().Limits), dryRunCost-1)
	}
	return s.turn(r, &s.listings, maxListings)
}

// later makes an error one that reports when to ask again, and gives the
// connection's place to another.
func (s *Server) later(r *request, after time.Duration, e *api.Error) error {
	r.w.Header().Set("Connection", "close")
	r.w.Header().Set(retryAfter, strconv.Itoa(max(1, int(math.Ceil(after.Seconds())))))
	return e
}

// turn waits for one of the user's turns, which ends with the request.
func (s *Server) turn(r *request, of *slots.Slots[int], most int) error {
	ctx, cancel := context.WithTimeout(r.Context(), turnTime)
	defer cancel()
	leave, err := of.Enter(ctx, r.person, most)
	if err != nil {
		return s.later(r, time.Second, errTooMany("requests"))
	}
	r.leave = append(r.leave, leave)
	return nil
}

// over gives back what the request holds.
func (r *request) over() {
	for _, leave := range r.leave {
		leave()
	}
	r.leave = nil
}
