package core

import "github.com/gpusched/gpusched/daemon/job"

// keyringSize is how many request keys are remembered. A client retries within
// seconds; older keys are found in the store.
const keyringSize = 100_000

type requestKey struct {
	uid int
	key string
}

// keyring remembers the last request keys, so that a retried submit finds its
// job. The empty key is never remembered.
type keyring struct {
	ids  map[requestKey]job.ID
	ring []requestKey
	next int
}

func newKeyring() keyring { return keyring{ids: map[requestKey]job.ID{}} }

func (k *keyring) add(uid int, key string, id job.ID) {
	if key == "" {
		return
	}
	rk := requestKey{uid, key}
	k.ids[rk] = id
	if len(k.ring) < keyringSize {
		k.ring = append(k.ring, rk)
		return
	}
	delete(k.ids, k.ring[k.next])
	k.ring[k.next] = rk
	k.next = (k.next + 1) % keyringSize
}

func (k *keyring) find(uid int, key string) (job.ID, bool) {
	id, ok := k.ids[requestKey{uid, key}]
	return id, ok && key != ""
}
