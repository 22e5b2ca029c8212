package core

import "github.com/gpusched/gpusched/daemon/job"

// keyringSize is how many request keys are remembered. A client retries within
// seconds; older keys are found in the store.
const keyringSize = 100_000

// requestKey names a request, so that a retried submit finds its job.
type requestKey struct {
	uid int
	key string
}

// keep remembers the request that made a job. The empty key is none.
func (c *Core) keep(uid int, key string, id job.ID) {
	if key != "" {
		c.keys.add(requestKey{uid, key}, id)
	}
}
