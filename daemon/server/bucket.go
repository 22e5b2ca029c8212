package server

import (
	"sync"
	"time"
)

// rateLimit is how often something may happen: rate times a second over a longer
// time, and up to burst times at once.
type rateLimit struct{ rate, burst float64 }

// bucket holds what is left of a pace. It may owe.
type bucket struct {
	level float64
	at    time.Time // of level; zero: it was never touched and is full
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

// buckets has one for each user. Those that are full again are forgotten.
type buckets struct {
	mu     sync.Mutex // guards the fields that follow
	byUser map[int]*bucket
	room   int // so many are there before full ones are looked for again
}

// manyBuckets is how many there are at least before full ones are looked for.
const manyBuckets = 256

// take takes one token of the user's, if there is one after waiting for at
// most patience. It returns how long to wait: more than patience means that
// nothing was taken.
func (b *buckets) take(uid int, p rateLimit, patience time.Duration) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	u := b.of(uid, p)
	if u.level >= 1 {
		u.level--
		return 0
	}
	wait := time.Duration((1 - u.level) / p.rate * float64(time.Second))
	if wait <= patience {
		u.level--
	}
	return wait
}

// maxDebt is for how many seconds at most a user has to wait.
const maxDebt = 2

// charge takes tokens that the user has had already.
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
			b.room = 2 * len(b.byUser) // so that looking costs little for each
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
