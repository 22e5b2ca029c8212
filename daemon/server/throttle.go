package server

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"sync"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/config"
)

// The bounds of invariant 4 beside those of the site.
const (
	patience    = time.Second      // a request that comes too soon is held so long at most
	turnTime    = 10 * time.Second // a request waits so long for its turn at most
	answerUnit  = 2 << 10          // bytes of an answer that count as one more request
	maxListings = 2                // of one user at once: an answer can be large
	noPace      = 0                // uid of root, who has no pace
)

// paceOf is the pace of one user's requests.
func paceOf(l config.Limits) pace { return pace{rate: float64(l.Requests), burst: float64(l.Burst)} }

// throttle holds a request that comes too soon back a little, and refuses it
// where that would not be enough. Root has no pace.
func (s *Server) throttle(r *request) error {
	if r.person == noPace {
		return nil
	}
	limits := s.opt.Site().Limits
	wait := s.rates.take(r.person, paceOf(limits), patience)
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
	if n := bytes / answerUnit; n > 0 && uid != noPace {
		s.rates.charge(uid, paceOf(s.opt.Site().Limits), float64(n))
	}
}

// later makes an error one that reports when to ask again, and gives the
// connection's place to somebody else.
func (s *Server) later(r *request, after time.Duration, e *api.Error) error {
	r.w.Header().Set("Connection", "close")
	r.w.Header().Set(retryAfter, strconv.Itoa(max(1, int(math.Ceil(after.Seconds())))))
	return e
}

// turn waits for one of the user's turns, which ends with the request.
func (s *Server) turn(r *request, t *turns, most int) error {
	ctx, cancel := context.WithTimeout(r.Context(), turnTime)
	defer cancel()
	leave, err := t.enter(ctx, r.person, most)
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

// turns lets each user do a few things at once, and the others wait.
type turns struct {
	mu     sync.Mutex // guards byUser and the counts in it
	byUser map[int]*row
}

// row is one user's turns, and how many have or want one.
type row struct {
	free  chan struct{}
	count int
}

// enter waits for a turn; leave gives it back, once. Most is taken on when the
// user has none.
func (t *turns) enter(ctx context.Context, uid, most int) (leave func(), err error) {
	t.mu.Lock()
	if t.byUser == nil {
		t.byUser = map[int]*row{}
	}
	u := t.byUser[uid]
	if u == nil {
		u = &row{free: make(chan struct{}, most)}
		t.byUser[uid] = u
	}
	u.count++
	t.mu.Unlock()
	select {
	case u.free <- struct{}{}:
		return func() { <-u.free; t.forget(uid, u) }, nil
	case <-ctx.Done():
		t.forget(uid, u)
		return nil, ctx.Err()
	}
}

func (t *turns) forget(uid int, u *row) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if u.count--; u.count == 0 {
		delete(t.byUser, uid)
	}
}
