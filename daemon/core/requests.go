package core

import "github.com/gpusched/gpusched/daemon/job"

// requests has which requests made which jobs, so that none makes a second one.
type requests struct {
	keys  recentSet[requestKey, job.ID]
	dedup recentSet[dedupKey, job.ID] // jobs with --dedup, waiting, running or completed
}

func newRequests(done []job.Done) requests {
	r := requests{keys: newRecentSet[requestKey, job.ID](requestKeysSize), dedup: newRecentSet[dedupKey, job.ID](dedupSize)}
	for _, d := range done {
		r.rememberDedup(d.UID, d.Dedup, d.Job)
	}
	return r
}

// requestKeysSize is how many request keys are remembered. A client retries within
// seconds; older keys are found in the store.
const requestKeysSize = 100_000

// requestKey names a request, so that a retried submit finds its job.
type requestKey struct {
	uid int
	key string
}

// remember remembers the request that made a job. The empty key is none.
func (r *requests) remember(uid int, key string, id job.ID) {
	if key != "" {
		r.keys.add(requestKey{uid, key}, id)
	}
}

// find returns the job that a request made.
func (r *requests) find(uid int, key string) (job.ID, bool) { return r.keys.get(requestKey{uid, key}) }

// dedupSize is how many jobs with --dedup are remembered. One that is forgotten
// runs again.
const dedupSize = 100_000

// dedupKey is what --dedup compares: two jobs of a user with the same hash are
// the same.
type dedupKey struct {
	uid  int
	hash string
}

// rememberDedup remembers the job with --dedup that has a content; "" is none.
func (r *requests) rememberDedup(uid int, hash string, id job.ID) {
	if hash != "" {
		r.dedup.add(dedupKey{uid, hash}, id)
	}
}

// duplicateOf finds the job that a submission with --dedup would repeat: one that
// waits, runs or completed. A failure is forgotten.
func (r *requests) duplicateOf(s *job.Submission) (job.ID, bool) {
	id, ok := r.dedup.get(dedupKey{s.Owner.UID, s.Request.Dedup})
	return id, ok && s.Request.Dedup != ""
}

// forgetDedup lets the content of a job that did not complete be queued again.
func (r *requests) forgetDedup(j *job.Job) {
	key := dedupKey{j.Owner.UID, j.Request.Dedup}
	if id, known := r.dedup.get(key); known && id == j.ID && j.State != job.Completed {
		r.dedup.remove(key)
	}
}
