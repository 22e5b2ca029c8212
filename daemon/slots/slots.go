package slots

import (
	"context"
	"sync"
)

// Slots holds the slots of each key. The zero value is ready for use.
type Slots[K comparable] struct {
	mu    sync.Mutex // guards what follows, and the counts in it
	byKey map[K]*slots
}

// slots are those of one key.
type slots struct {
	taken chan struct{}
	users int // callers that have one or wait for one
}

// Enter waits for one of the key's slots; leave, to be called once, gives it back.
// How many there are is decided by the first of the callers of a key.
func (s *Slots[K]) Enter(ctx context.Context, key K, most int) (leave func(), err error) {
	one := s.join(key, most)
	select {
	case one.taken <- struct{}{}:
		return func() { <-one.taken; s.part(key, one) }, nil
	case <-ctx.Done():
		s.part(key, one)
		return nil, ctx.Err()
	}
}

// Keys returns how many keys have callers.
func (s *Slots[K]) Keys() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.byKey)
}

func (s *Slots[K]) join(key K, most int) *slots {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byKey == nil {
		s.byKey = map[K]*slots{}
	}
	one := s.byKey[key]
	if one == nil {
		one = &slots{taken: make(chan struct{}, most)}
		s.byKey[key] = one
	}
	one.users++
	return one
}

func (s *Slots[K]) part(key K, one *slots) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one.users--; one.users == 0 {
		delete(s.byKey, key)
	}
}
