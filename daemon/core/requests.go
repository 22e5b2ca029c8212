package core

import "github.com/gpusched/gpusched/daemon/job"

// requests has which requests made which jobs, so that none makes a second one.
type requests struct {
	keys ring[requestKey, job.ID]
	same ring[content, job.ID] // jobs with --dedup, waiting, running or completed
}

func newRequests(done []job.Done) requests {
	r := requests{keys: newRing[requestKey, job.ID](keyringSize), same: newRing[content, job.ID](twinsSize)}
	for _, d := range done {
		r.keepContent(d.UID, d.Dedup, d.Job)
	}
	return r
}

// keyringSize is how many request keys are remembered. A client retries within
// seconds; older keys are found in the store.
const keyringSize = 100_000

// requestKey names a request, so that a retried submit finds its job.
type requestKey struct {
	uid int
	key string
}

// keep remembers the request that made a job. The empty key is none.
func (r *requests) keep(uid int, key string, id job.ID) {
	if key != "" {
		r.keys.add(requestKey{uid, key}, id)
	}
}

// find returns the job that a request made.
func (r *requests) find(uid int, key string) (job.ID, bool) { return r.keys.get(requestKey{uid, key}) }

// twinsSize is how many jobs with --dedup are remembered. One that is forgotten
// runs again.
const twinsSize = 100_000

// content is what --dedup compares: two jobs of a user with the same hash are
// the same.
type content struct {
	uid  int
	hash string
}

// keepContent remembers the job with --dedup that has a content; "" is none.
func (r *requests) keepContent(uid int, hash string, id job.ID) {
	if hash != "" {
		r.same.add(content{uid, hash}, id)
	}
}

// twin finds the job that a submission with --dedup would repeat: one that
// waits, runs or completed. A failure is forgotten.
func (r *requests) twin(s *job.Submission) (job.ID, bool) {
	id, ok := r.same.get(content{s.Owner.UID, s.Request.Dedup})
	return id, ok && s.Request.Dedup != ""
}

// forgetTwin lets the content of a job that did not complete be queued again.
func (r *requests) forgetTwin(j *job.Job) {
	key := content{j.Owner.UID, j.Request.Dedup}
	if id, known := r.same.get(key); known && id == j.ID && j.State != job.Completed {
		r.same.remove(key)
	}
}
