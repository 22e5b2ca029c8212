package tracked

// recentSet remembers the values that were added last, up to a number, by key.
type recentSet[K comparable, V any] struct {
	size  int
	of    map[K]slot[V]
	order []K // keys in order of addition, perhaps removed since; once full, the oldest is at next
	next  int
}

// slot is a value and its place in the order.
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

// add remembers a value, and forgets the oldest if there are too many. If the key is known already,
// it keeps its place in the order.
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
		if old := r.order[at]; r.of[old].at == at { // otherwise old was removed and added again
			delete(r.of, old)
		}
		r.order[at] = key
		r.next = (at + 1) % r.size
	}
	r.of[key] = slot[V]{value, at}
}

// remove forgets a key. The key still takes a place in the order, until it is the oldest.
func (r *recentSet[K, V]) remove(key K) { delete(r.of, key) }
