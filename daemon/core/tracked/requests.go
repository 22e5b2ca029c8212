package tracked

import "github.com/gpusched/gpusched/daemon/job"

// Requests records which request made which job, so that none makes a second one.
type Requests struct {
	keys  recentSet[requestKey, job.ID]
	dedup recentSet[requestKey, job.ID] // jobs with --dedup that wait, run or completed, by their content
}

// The numbers of request keys and of jobs with --dedup that are remembered. Once its job is on
// disk, a key is found in the store, so keys only have to cover jobs on their way there. A job with
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

// requestKey identifies equal requests of a user: the key of a retried submission, or the hash that
// --dedup compares.
type requestKey struct {
	uid  int
	text string
}

// Remember records which request made a job, and its content if it has --dedup. An empty text is
// not recorded.
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

// DuplicateOf returns the job that a submission with --dedup would repeat: one that waits, runs or
// completed. A failed job does not count.
func (r *Requests) DuplicateOf(s *job.Submission) (job.ID, bool) {
	id, ok := r.dedup.get(requestKey{s.Owner.UID, s.Request.Dedup})
	return id, ok && s.Request.Dedup != ""
}

// ForgetDedup allows the content of a job that did not complete to be queued again.
func (r *Requests) ForgetDedup(j *job.Job) {
	key := requestKey{j.Owner.UID, j.Request.Dedup}
	if id, known := r.dedup.get(key); known && id == j.ID && j.State != job.Completed {
		r.dedup.remove(key)
	}
}
