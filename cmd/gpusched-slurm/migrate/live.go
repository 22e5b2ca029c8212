package migrate

import (
	"context"
	"slices"

	"github.com/gpusched/gpusched/cmd/gpusched/engines"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// liveJobs are those here that have not ended, of everybody.
type liveJobs struct {
	keys    map[job.ID]string   // keyOf each
	waiters map[job.ID][]waiter // of what is waited for, those that wait
}

// waiter is a job that waits for another one.
type waiter struct {
	id   job.ID // of a task, its array
	user string
	uid  int
}

// look asks for them.
func (m *migration) look(ctx context.Context) (liveJobs, error) {
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

// awaited is an error where a job is waited for by another one than those. The end of a job that is
// moved would end those that wait for it, or start them before it has run.
func (l *liveJobs) awaited(id job.ID, but map[job.ID]bool, uid int) error {
	i := slices.IndexFunc(l.waiters[id], func(w waiter) bool { return !but[w.id] })
	if i < 0 {
		return nil
	}
	w := l.waiters[id][i]
	hint := "move that one, too, or cancel it"
	if w.uid != uid {
		hint = "it is of " + w.user + ", who has to cancel it first"
	}
	return engines.Refuse(api.CodeConflict, hint, "job %d, which waits for it, stays", w.id)
}

// together leaves out jobs that wait for one that stays, or for which one waits that stays.
func (m *migration) together(ctx context.Context, list []*moving) []*moving {
	chosen := map[job.ID]bool{}
	for _, mv := range list {
		chosen[mv.job.ID] = true
	}
	for before := -1; before != len(list); {
		before = len(list)
		list = slices.DeleteFunc(list, func(mv *moving) bool {
			err := m.tied(&mv.job, chosen)
			if err != nil {
				delete(chosen, mv.job.ID)
				m.stay(ctx, mv.job, err)
			}
			return err != nil
		})
	}
	return list
}

// tied is an error where a job can't be moved with the chosen ones alone.
func (m *migration) tied(j *api.Job, chosen map[job.ID]bool) error {
	for _, d := range j.After {
		if !chosen[d.Job] && m.movedTo(d.Job) == 0 {
			return engines.Refuse(api.CodeConflict, "move that one, too, or wait for its end", "it waits for job %d, which stays", d.Job)
		}
	}
	return m.live.awaited(j.ID, chosen, m.s.UID)
}

// movedTo is what a live job of this machine has become there; 0 is nothing yet.
func (m *migration) movedTo(id job.ID) job.ID {
	if line := m.log.lines[m.live.keys[id]]; line.Conf == m.conf {
		return line.Slurm
	}
	return 0
}
