package slots

import (
	"context"
	"sync"
)

// Slots has the slots of all keys. The zero value is ready for use.
type Slots[K comparable] struct {
	mu    sync.Mutex // guards byKey and the counts in it
	byKey map[K]*slots
}

// slots has the slots of one key.
type slots struct {
	taken   chan struct{}
	callers int // how many callers have a slot or wait for one
}

// Enter waits for a slot of a key. The caller must call the returned function once, to free the
// slot. The first caller of a key sets how many slots the key has (most).
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

// Keys returns how many keys have callers now.
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
	one.callers++
	return one
}

func (s *Slots[K]) part(key K, one *slots) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one.callers--; one.callers == 0 {
		delete(s.byKey, key)
	}
}
