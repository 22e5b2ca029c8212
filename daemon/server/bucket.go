package server

import (
	"sync"
	"time"
)

// rateLimit allows rate events a second over time, and up to burst events at once.
type rateLimit struct{ rate, burst float64 }

// bucket is a token bucket. Its level may be negative.
type bucket struct {
	level float64
	at    time.Time // when level was current; zero: never used, so full
}

// fill brings the level up to date.
func (b *bucket) fill(p rateLimit, now time.Time) {
	if b.at.IsZero() {
		b.level = p.burst
	} else {
		b.level = min(b.level+now.Sub(b.at).Seconds()*p.rate, p.burst)
	}
	b.at = now
}

// buckets has a bucket for each user. It drops buckets that are full again.
type buckets struct {
	mu     sync.Mutex // guards the fields that follow
	byUser map[int]*bucket
	room   int // the number of buckets at which the next sweep drops full ones
}

// manyBuckets is the least number of buckets at which a sweep takes place.
const manyBuckets = 256

// take takes one of the user's tokens if there is one within maxDelay. It returns the time until
// then; if that exceeds maxDelay, it took nothing.
func (b *buckets) take(uid int, p rateLimit, maxDelay time.Duration) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	u := b.of(uid, p)
	if u.level >= 1 {
		u.level--
		return 0
	}
	wait := time.Duration((1 - u.level) / p.rate * float64(time.Second))
	if wait <= maxDelay {
		u.level--
	}
	return wait
}

// maxDebt is the longest that a charge can make a user wait, in seconds.
const maxDebt = 2

// charge takes tokens for something that the user has had already.
func (b *buckets) charge(uid int, p rateLimit, tokens float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	u := b.of(uid, p)
	u.level = max(u.level-tokens, -maxDebt*p.rate)
}

// of returns the user's bucket, filled. The caller holds mu.
func (b *buckets) of(uid int, p rateLimit) *bucket {
	now := time.Now()
	if b.byUser == nil {
		b.byUser = map[int]*bucket{}
	}
	u := b.byUser[uid]
	if u == nil {
		if len(b.byUser) >= max(b.room, manyBuckets) {
			b.sweep(p, now)
			b.room = 2 * len(b.byUser) // so that sweeps cost little for each bucket
		}
		u = &bucket{}
		b.byUser[uid] = u
	}
	u.fill(p, now)
	return u
}

func (b *buckets) sweep(p rateLimit, now time.Time) {
	for uid, u := range b.byUser {
		if u.fill(p, now); u.level >= p.burst {
			delete(b.byUser, uid)
		}
	}
}
