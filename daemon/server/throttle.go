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

// limits bounds what clients may ask at once and how often (invariant 4).
type limits struct {
	site func() config.Limits // the settings in force

	rates     buckets // of each user's requests
	conns     *connLimiter
	waits     *connLimiter
	followers *connLimiter // of the events

	requests, listings, reports slots.Slots[int]      // by user
	allReports                  slots.Slots[struct{}] // of all users together
}

func newLimits(site func() config.Limits) limits {
	return limits{
		site:      site,
		conns:     newConnLimiter(func() (int, int) { return site().Connections, site().UserConns }),
		waits:     newConnLimiter(func() (int, int) { return site().Connections, site().UserWaits }),
		followers: newConnLimiter(func() (int, int) { return maxFollowers, maxUserFollowers }),
	}
}

// rateOf is the rate of one user's requests.
func rateOf(l config.Limits) rateLimit {
	return rateLimit{rate: float64(l.Requests), burst: float64(l.Burst)}
}

// throttle holds a request that comes too soon back a little, and refuses it
// where that would not be enough. Root has no pace.
func (l *limits) throttle(r *request) error {
	if r.person == exempt {
		return nil
	}
	site := l.site()
	wait := l.rates.take(r.person, rateOf(site), patience)
	if wait > patience {
		// Who is answered at once comes back at once.
		if err := api.Pause(r.Context(), patience); err != nil {
			return err
		}
		return later(r, wait-patience, &api.Error{
			Code: api.CodeUnavailable, Message: fmt.Sprintf("too many requests: %s may make %d a second", r.who.User, site.Requests),
			Hint: "try again in a moment, or ask less often",
		})
	}
	return api.Pause(r.Context(), wait)
}

// charge counts something as that many more requests of a user.
func (l *limits) charge(uid int, requests float64) {
	if uid != exempt {
		l.rates.charge(uid, rateOf(l.site()), requests)
	}
}

// chargeAnswer counts a large answer as several requests.
func (l *limits) chargeAnswer(uid, bytes int) { l.charge(uid, float64(bytes/answerUnit)) }

// takeListingSlot takes one of the user's slots for requests whose answers can be large.
func (l *limits) takeListingSlot(r *request) error { return l.takeSlot(r, &l.listings, maxListings) }

// turnOfDryRun waits for one of the user's turns for what is dear, and counts for it.
func (l *limits) takeDryRunSlot(r *request) error {
	l.charge(r.person, dryRunCost-1)
	return l.takeListingSlot(r)
}

// later makes an error one that reports when to ask again, and gives the
// connection's place to another.
func later(r *request, after time.Duration, e *api.Error) error {
	r.w.Header().Set("Connection", "close")
	r.w.Header().Set(retryAfter, strconv.Itoa(max(1, int(math.Ceil(after.Seconds())))))
	return e
}

// turn waits for one of the user's turns, which ends with the request.
func (l *limits) takeSlot(r *request, of *slots.Slots[int], most int) error {
	ctx, cancel := context.WithTimeout(r.Context(), turnTime)
	defer cancel()
	leave, err := of.Enter(ctx, r.person, most)
	if err != nil {
		return later(r, time.Second, errTooMany("requests"))
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
