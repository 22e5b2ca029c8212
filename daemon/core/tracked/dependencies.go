package tracked

import (
	"maps"
	"slices"

	"github.com/gpusched/gpusched/daemon/job"
)

// Dependencies records which queued jobs wait for which other jobs.
type Dependencies struct {
	followers map[job.ID][]job.ID        // for each job, the jobs that wait for it; each list is sorted by id
	edges     map[int]int                // the number of unmet dependencies of each person
	recent    recentSet[job.ID, job.End] // how the most recently ended jobs ended
}

func NewDependencies() Dependencies {
	return Dependencies{
		followers: map[job.ID][]job.ID{}, edges: map[int]int{}, recent: newRecentSet[job.ID, job.End](endsSize),
	}
}

// endsSize is the number of ended jobs that are remembered. A submission may name a job that ended
// after the daemon had looked the job up.
const endsSize = 10_000

// Remember notes how a job ended.
func (d *Dependencies) Remember(id job.ID, end job.End) { d.recent.add(id, end) }

// EndOf returns how a job ended, if that is still remembered.
func (d *Dependencies) EndOf(id job.ID) (job.End, bool) { return d.recent.get(id) }

// FollowersOf returns, by id, a copy of the list of jobs that wait for the given one.
func (d *Dependencies) FollowersOf(id job.ID) []job.ID { return slices.Clone(d.followers[id]) }

// Follow makes a queued job a follower of the jobs for which it waits.
func (d *Dependencies) Follow(l *Job) {
	for _, on := range l.Pending {
		list := d.followers[on.Job]
		if at, known := slices.BinarySearch(list, l.ID); !known {
			d.followers[on.Job] = slices.Insert(list, at, l.ID)
		}
	}
	d.CountEdges(l, len(l.Pending))
}

// Unfollow undoes Follow when a job no longer waits, or is about to wait for other jobs instead.
func (d *Dependencies) Unfollow(l *Job) {
	for _, on := range l.Pending {
		d.RemoveFollower(on.Job, l.ID)
	}
	d.CountEdges(l, -len(l.Pending))
}

func (d *Dependencies) RemoveFollower(of, id job.ID) {
	list := d.followers[of]
	if at, known := slices.BinarySearch(list, id); known {
		list = slices.Delete(list, at, at+1)
		d.followers[of] = list
	}
	if len(list) == 0 {
		delete(d.followers, of)
	}
}

// CountEdges adds n to the number of unmet dependencies of a job's person.
func (d *Dependencies) CountEdges(l *Job, n int) {
	uid := l.Person().UID
	if d.edges[uid] += n; d.edges[uid] == 0 {
		delete(d.edges, uid)
	}
}

// EdgesQuota refuses a job's dependencies if the jobs of its person would have too many in total.
// Without this quota, each end of a job could delay everybody. The argument oldEdges is the number
// of dependencies that this job has already.
func (d *Dependencies) EdgesQuota(j *job.Job, open, oldEdges int) *job.Refusal {
	n := d.edges[j.Person().UID] - oldEdges
	if open == 0 || n+open <= job.MaxOpenDependencies {
		return nil
	}
	return job.Refuse("policy/dependencies", n, job.MaxOpenDependencies)
}

// Check verifies that each job follows exactly the jobs for which it waits.
func (d *Dependencies) Check(jobs *Book, breach Breach) {
	wait, edges := map[job.ID][]job.ID{}, map[int]int{}
	for _, l := range jobs.Sorted(AnyJob) {
		id, j := l.ID, l.Job
		for _, on := range j.Pending {
			if list := wait[on.Job]; len(list) == 0 || list[len(list)-1] != id {
				wait[on.Job] = append(list, id)
			}
			if jobs.Get(on.Job) == nil {
				breach(11, "job %d waits for job %d, and there is no such job", id, on.Job)
			}
			edges[j.Person().UID]++
		}
	}
	if !maps.EqualFunc(wait, d.followers, slices.Equal) {
		breach(11, "jobs wait for others as %v, and are told as %v", wait, d.followers)
	}
	if !maps.Equal(edges, d.edges) {
		breach(11, "the jobs of each person wait for %v, counted are %v", edges, d.edges)
	}
}
