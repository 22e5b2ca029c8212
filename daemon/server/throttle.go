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

// The limits of invariant 4 that a site cannot change.
const (
	maxDelay    = time.Second      // longest time by which the rate limit delays a request
	slotTime    = 10 * time.Second // longest wait of a request for a slot
	answerUnit  = 2 << 10          // this many bytes of an answer count as one more request
	maxListings = 2                // maximum at once for one user, because answers can be large
	dryRunCost  = 20               // a dry run counts as this many requests, because the scheduler plans for it
	exempt      = 0                // root's uid: root has no rate limit
)

// limits restricts how many requests clients may make at once, and how often (invariant 4).
type limits struct {
	site func() config.Limits // settings in force

	rates     buckets // rates of requests
	conns     *connLimiter
	waits     *connLimiter
	followers *connLimiter // clients that follow the events

	requests, listings, reports slots.Slots[int]      // by user
	allReports                  slots.Slots[struct{}] // for all users together
}

func newLimits(site func() config.Limits) limits {
	return limits{
		site:      site,
		conns:     newConnLimiter(func() (int, int) { return site().Connections, site().UserConns }),
		waits:     newConnLimiter(func() (int, int) { return site().Connections, site().UserWaits }),
		followers: newConnLimiter(func() (int, int) { return maxFollowers, maxUserFollowers }),
	}
}

// rateOf returns the rate limit for one user's requests.
func rateOf(l config.Limits) rateLimit {
	return rateLimit{rate: float64(l.Requests), burst: float64(l.Burst)}
}

// throttle delays a request that exceeds its user's rate. If the delay would be longer than
// maxDelay, throttle refuses the request. Root has no rate limit.
func (l *limits) throttle(r *request) error {
	if r.person == exempt {
		return nil
	}
	site := l.site()
	wait := l.rates.take(r.person, rateOf(site), maxDelay)
	if wait > maxDelay {
		// The refusal is delayed too, because the client would otherwise ask again at once.
		if err := api.Pause(r.Context(), maxDelay); err != nil {
			return err
		}
		return retryLater(r, wait-maxDelay, &api.Error{
			Code: api.CodeUnavailable, Message: fmt.Sprintf("too many requests: %s may make %d a second", r.who.User, site.Requests),
			Hint: "try again in a moment, or ask less often",
		})
	}
	return api.Pause(r.Context(), wait)
}

// charge counts something as a number of additional requests of a user.
func (l *limits) charge(uid int, requests float64) {
	if uid != exempt && requests > 0 {
		l.rates.charge(uid, rateOf(l.site()), requests)
	}
}

// chargeAnswer counts every answerUnit bytes of an answer as one more request.
func (l *limits) chargeAnswer(uid, bytes int) { l.charge(uid, float64(bytes/answerUnit)) }

// takeListingSlot takes one of the user's slots for requests with large answers.
func (l *limits) takeListingSlot(r *request) error { return l.takeSlot(r, &l.listings, maxListings) }

// takeDryRunSlot takes one of the user's listing slots for a dry run, and charges the user for it.
func (l *limits) takeDryRunSlot(r *request) error {
	l.charge(r.person, dryRunCost-1)
	return l.takeListingSlot(r)
}

// retryLater adds to the reply the time after which the client may send the request again. It also
// closes the connection, so that its place becomes free.
func retryLater(r *request, after time.Duration, e *api.Error) error {
	r.w.Header().Set("Connection", "close")
	r.w.Header().Set(retryAfter, strconv.Itoa(max(1, int(math.Ceil(after.Seconds())))))
	return e
}

// takeSlot waits for one of the user's slots in pool. The slot is free again when the request ends.
func (l *limits) takeSlot(r *request, pool *slots.Slots[int], most int) error {
	ctx, cancel := context.WithTimeout(r.Context(), slotTime)
	defer cancel()
	leave, err := pool.Enter(ctx, r.person, most)
	if err != nil {
		return retryLater(r, time.Second, errTooMany("requests"))
	}
	r.leave = append(r.leave, leave)
	return nil
}

// release frees everything that the request uses.
func (r *request) release() {
	for _, leave := range r.leave {
		leave()
	}
	r.leave = nil
}
