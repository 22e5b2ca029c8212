package migrate

import (
	"context"
	"slices"

	"github.com/gpusched/gpusched/cmd/gpusched/engines"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// liveJobs are the jobs of all users on this machine that have not ended.
type liveJobs struct {
	keys    map[job.ID]string   // the key (keyOf) of each job
	waiters map[job.ID][]waiter // for each job, the jobs that wait for it
}

// A waiter is a job that waits for another job.
type waiter struct {
	id   job.ID // the id of the array if the waiter is a task
	user string
	uid  int
}

// listLive asks the scheduler for all live jobs.
func (m *migration) listLive(ctx context.Context) (liveJobs, error) {
	reply, err := api.List(ctx, m.s.Here, api.ListQuery{})
	live := liveJobs{keys: map[job.ID]string{}, waiters: map[job.ID][]waiter{}}
	for i := range reply.Jobs {
		j := &reply.Jobs[i]
		w := waiter{j.ID, j.User, j.UID}
		if j.Task != nil {
			w.id = j.Task.Array
		}
		if j.ID != 0 {
			live.keys[j.ID] = m.keyOf(j)
		}
		for _, d := range j.After {
			live.waiters[d.Job] = append(live.waiters[d.Job], w)
		}
	}
	return live, err
}

// checkWaiters returns an error if another job waits for this job. Ignored jobs do not count. If
// this job were cancelled, a job that waits for it would end or start too early.
func (l *liveJobs) checkWaiters(id job.ID, ignored map[job.ID]bool, uid int) error {
	i := slices.IndexFunc(l.waiters[id], func(w waiter) bool { return !ignored[w.id] })
	if i < 0 {
		return nil
	}
	w := l.waiters[id][i]
	hint := "move that job, too, or cancel it"
	if w.uid != uid {
		hint = "it belongs to " + w.user + ", who must cancel it first"
	}
	return engines.Refuse(api.CodeConflict, hint, "job %d, which waits for it, stays", w.id)
}

// dropTied drops the jobs that cannot be moved because another job stays: jobs that wait for the
// other job, and jobs for which it waits.
func (m *migration) dropTied(ctx context.Context, list []*movedJob) []*movedJob {
	chosen := map[job.ID]bool{}
	for _, mv := range list {
		chosen[mv.job.ID] = true
	}
	for before := -1; before != len(list); {
		before = len(list)
		list = slices.DeleteFunc(list, func(mv *movedJob) bool {
			err := m.checkTies(&mv.job, chosen)
			if err != nil {
				delete(chosen, mv.job.ID)
				m.reportUnmoved(ctx, mv.job, err)
			}
			return err != nil
		})
	}
	return list
}

// checkTies returns an error if a job cannot be moved when only the chosen jobs are moved.
func (m *migration) checkTies(j *api.Job, chosen map[job.ID]bool) error {
	for _, d := range j.After {
		if !chosen[d.Job] && m.movedTo(d.Job) == 0 {
			return engines.Refuse(api.CodeConflict, "move that job, too, or wait for its end", "it waits for job %d, which stays", d.Job)
		}
	}
	return m.live.checkWaiters(j.ID, chosen, m.s.UID)
}

// movedTo returns the id in Slurm of a live job of
// this machine, or 0 if the job has not been moved.
func (m *migration) movedTo(id job.ID) job.ID {
	if line := m.log.lines[m.live.keys[id]]; line.Conf == m.conf {
		return line.Slurm
	}
	return 0
}
