package core

// ring remembers the last so many values by their keys.
type ring[K comparable, V any] struct {
	size  int
	of    map[K]V
	order []K // as they came; the oldest is at next once it is full
	next  int
}

func newRing[K comparable, V any](size int) ring[K, V] { return ring[K, V]{size: size, of: map[K]V{}} }

// add remembers a value, and forgets the oldest where there are too many. A key
// that is known keeps its place.
func (r *ring[K, V]) add(key K, value V) {
	_, known := r.of[key]
	r.of[key] = value
	switch {
	case known:
	case len(r.order) < r.size:
		r.order = append(r.order, key)
	default:
		delete(r.of, r.order[r.next])
		r.order[r.next] = key
		r.next = (r.next + 1) % r.size
	}
}
