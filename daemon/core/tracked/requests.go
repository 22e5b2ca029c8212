package tracked

import "github.com/gpusched/gpusched/daemon/job"

// Requests records which request made which job, so that no request makes two jobs.
type Requests struct {
	keys  recentSet[requestKey, job.ID]
	dedup recentSet[requestKey, job.ID] // by hash, the jobs with --dedup that wait, run or have completed
}

// These are the numbers of request keys, and of jobs with --dedup, that are remembered. Once a job
// is on disk, the store can find its key. So only the keys of jobs that are not on disk yet must be
// remembered. If a job with --dedup is forgotten, the same job can run again.
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

// requestKey identifies equal requests of a user. It contains the key of a submission that may be
// repeated, or the hash that --dedup compares.
type requestKey struct {
	uid  int
	text string
}

// Remember records the key of the request that made a job, and its hash if the job has --dedup. If
// the key or the hash is empty, it is not recorded.
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

// DuplicateOf returns the job that a submission with --dedup would repeat: a job that waits, runs
// or completed. A failed job does not count.
func (r *Requests) DuplicateOf(s *job.Submission) (job.ID, bool) {
	id, ok := r.dedup.get(requestKey{s.Owner.UID, s.Request.Dedup})
	return id, ok && s.Request.Dedup != ""
}

// ForgetDedup allows a user to queue the same job again if this one has not completed.
func (r *Requests) ForgetDedup(j *job.Job) {
	key := requestKey{j.Owner.UID, j.Request.Dedup}
	if id, known := r.dedup.get(key); known && id == j.ID && j.State != job.Completed {
		r.dedup.remove(key)
	}
}
