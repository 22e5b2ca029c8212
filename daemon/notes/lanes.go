package notes

import (
	"context"
	"sync"
)

// lanes let at most width callers of each key through at a time.
type lanes[K comparable] struct {
	width int

	mu sync.Mutex // guards what follows
	of map[K]*lane
}

type lane struct {
	places chan struct{}
	users  int // those in it and those who wait
}

// enter waits for a place in the lane of key, which the caller gives back by leave.
func (l *lanes[K]) enter(ctx context.Context, key K) (leave func(), err error) {
	one := l.join(key)
	select {
	case one.places <- struct{}{}:
		return func() { <-one.places; l.part(key, one) }, nil
	case <-ctx.Done():
		l.part(key, one)
		return nil, ctx.Err()
	}
}

func (l *lanes[K]) join(key K) *lane {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of == nil {
		l.of = map[K]*lane{}
	}
	one := l.of[key]
	if one == nil {
		one = &lane{places: make(chan struct{}, l.width)}
		l.of[key] = one
	}
	one.users++
	return one
}

func (l *lanes[K]) part(key K, one *lane) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if one.users--; one.users == 0 {
		delete(l.of, key)
	}
}
