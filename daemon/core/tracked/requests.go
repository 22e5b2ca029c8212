package tracked

import "github.com/gpusched/gpusched/daemon/job"

// Requests has which requests made which jobs, so that none makes a second one.
type Requests struct {
	keys  recentSet[requestKey, job.ID]
	dedup recentSet[requestKey, job.ID] // jobs with --dedup, waiting, running or completed, by their content
}

// How many request keys, and how many jobs with --dedup, are remembered. A key is found in the store
// once its job is on disk, so these have to be only as many as are on their way there; a job with
// --dedup that is forgotten runs again.
const (
	KeysSize  = 20_000
	dedupSize = 100_000
)

func NewRequests(done []job.Done) Requests {
	r := Requests{
		keys:  newRecentSet[requestKey, job.ID](KeysSize),
		dedup: newRecentSet[requestKey, job.ID](dedupSize),
	}
	for _, d := range done {
		r.Remember(d.UID, "", d.Dedup, d.Job)
	}
	return r
}

// requestKey is what two requests of a user that are the same have in common: the key
// of a submit that is tried again, or the hash that --dedup compares.
type requestKey struct {
	uid  int
	text string
}

// Remember keeps which request made a job, and its content where it has --dedup. The
// empty text is none.
func (r *Requests) Remember(uid int, key, dedup string, id job.ID) {
	if key != "" {
		r.keys.add(requestKey{uid, key}, id)
	}
	if dedup != "" {
		r.dedup.add(requestKey{uid, dedup}, id)
	}
}

// Find returns the job that a request made.
func (r *Requests) Find(uid int, key string) (job.ID, bool) { return r.keys.get(requestKey{uid, key}) }

// DuplicateOf finds the job that a submission with --dedup would repeat: one that
// waits, runs or completed. A failure is forgotten.
func (r *Requests) DuplicateOf(s *job.Submission) (job.ID, bool) {
	id, ok := r.dedup.get(requestKey{s.Owner.UID, s.Request.Dedup})
	return id, ok && s.Request.Dedup != ""
}

// ForgetDedup lets the content of a job that did not complete be queued again.
func (r *Requests) ForgetDedup(j *job.Job) {
	key := requestKey{j.Owner.UID, j.Request.Dedup}
	if id, known := r.dedup.get(key); known && id == j.ID && j.State != job.Completed {
		r.dedup.remove(key)
	}
}
