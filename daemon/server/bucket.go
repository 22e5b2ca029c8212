package server

import (
	"sync"
	"time"
)

// rateLimit limits events: rate is the number per second in the long run, and burst is the number
// that may come at once.
type rateLimit struct{ rate, burst float64 }

// bucket is a token bucket. Its level can be negative.
type bucket struct {
	level float64
	at    time.Time // time at which level was computed; zero: never used, so the bucket is full
}

// fill adds the tokens for the time that has passed.
func (b *bucket) fill(p rateLimit, now time.Time) {
	if b.at.IsZero() {
		b.level = p.burst
	} else {
		b.level = min(b.level+now.Sub(b.at).Seconds()*p.rate, p.burst)
	}
	b.at = now
}

// buckets has a bucket for each user. Buckets that are full again are deleted.
type buckets struct {
	mu     sync.Mutex // guards the fields below
	byUser map[int]*bucket
	room   int // number of buckets at which the next sweep deletes full buckets
}

// manyBuckets is the least number of buckets that causes a sweep.
const manyBuckets = 256

// take takes a token from the user's bucket, now or in advance. It returns how long the user must
// wait for that token. If the user would wait longer than maxDelay, take takes no token.
func (b *buckets) take(uid int, p rateLimit, maxDelay time.Duration) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	u := b.bucketOf(uid, p)
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

// maxDebt is the longest time that charge can make a user wait, in seconds.
const maxDebt = 2

// charge takes tokens for something that the user has already received.
func (b *buckets) charge(uid int, p rateLimit, tokens float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	u := b.bucketOf(uid, p)
	u.level = max(u.level-tokens, -maxDebt*p.rate)
}

// bucketOf returns the user's bucket after it has been filled for the time that has passed. The
// caller must hold mu.
func (b *buckets) bucketOf(uid int, p rateLimit) *bucket {
	now := time.Now()
	if b.byUser == nil {
		b.byUser = map[int]*bucket{}
	}
	u := b.byUser[uid]
	if u == nil {
		if len(b.byUser) >= max(b.room, manyBuckets) {
			b.sweep(p, now)
			b.room = 2 * len(b.byUser) // doubled, so that sweeps stay cheap per bucket
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
