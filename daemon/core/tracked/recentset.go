package tracked

// recentSet remembers, by key, a limited number of values: those that were added last.
type recentSet[K comparable, V any] struct {
	size  int
	of    map[K]slot[V]
	order []K // keys in order of their additions, perhaps removed since; once full, the oldest is at index next
	next  int
}

// slot is a value and the place of its key in the order.
type slot[V any] struct {
	value V
	at    int
}

func newRecentSet[K comparable, V any](size int) recentSet[K, V] {
	return recentSet[K, V]{size: size, of: map[K]slot[V]{}}
}

func (r *recentSet[K, V]) get(key K) (V, bool) {
	s, known := r.of[key]
	return s.value, known
}

// add remembers a value, and forgets the oldest one if there are too many. A key that is known
// already keeps its place in the order.
func (r *recentSet[K, V]) add(key K, value V) {
	if s, known := r.of[key]; known {
		r.of[key] = slot[V]{value, s.at}
		return
	}
	at := len(r.order)
	if at < r.size {
		r.order = append(r.order, key)
	} else {
		at = r.next
		if old := r.order[at]; r.of[old].at == at { // otherwise the old key was removed and added again
			delete(r.of, old)
		}
		r.order[at] = key
		r.next = (at + 1) % r.size
	}
	r.of[key] = slot[V]{value, at}
}

// remove forgets a key. The key still takes a place in the order, until it is the oldest.
func (r *recentSet[K, V]) remove(key K) { delete(r.of, key) }
