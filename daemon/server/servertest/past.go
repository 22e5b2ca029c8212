package servertest

import (
	"cmp"
	"context"
	"slices"

	"github.com/gpusched/gpusched/daemon/job"
)

// Past returns ended jobs of View in the same way as the store.
func (b *Backend) Past(_ context.Context, q job.PastQuery) (past job.Past, err error) {
	err = b.lock()
	defer b.mu.Unlock()
	if err != nil {
		return past, err
	}
	for _, v := range b.View.Jobs {
		if v.State.Terminal() && pastMatches(&q, &v.Job) {
			past.Jobs = append(past.Jobs, v.Job)
		}
	}
	order := func(x, y job.Job) int { return cmp.Or(x.ChangedAt.Compare(y.ChangedAt), cmp.Compare(x.ID, y.ID)) }
	slices.SortFunc(past.Jobs, order)
	if q.Newest {
		slices.Reverse(past.Jobs)
	}
	if !q.After.IsZero() {
		at := slices.IndexFunc(past.Jobs, func(j job.Job) bool { return j.ID == q.After.ID })
		past.Jobs = past.Jobs[at+1:]
	}
	if n := cmp.Or(q.Limit, job.MaxPast); len(past.Jobs) >= n {
		past.Jobs = past.Jobs[:n]
		past.Next = job.Cursor{At: past.Jobs[n-1].ChangedAt, ID: past.Jobs[n-1].ID}
	}
	if q.Attempts {
		past.Attempts = map[job.ID][]job.Attempt{}
		for _, v := range b.View.Jobs {
			past.Attempts[v.ID] = v.Attempts
		}
	}
	return past, nil
}

func pastMatches(q *job.PastQuery, j *job.Job) bool {
	value, tagged := j.Label.Tags[q.Tag.Key]
	switch {
	case !q.From.IsZero() && j.ChangedAt.Before(q.From), !q.To.IsZero() && !j.ChangedAt.Before(q.To):
		return false
	case !(&job.Query{UID: q.UID, User: q.User}).Matches(j), q.Name != "" && j.Label.Name != q.Name:
		return false
	case q.IDs != nil && !slices.Contains(q.IDs, j.ID), q.Array != 0 && (j.Task == nil || j.Task.Array != q.Array):
		return false
	case len(q.States) > 0 && !slices.Contains(q.States, j.State):
		return false
	}
	return q.Tag.Key == "" || tagged && (q.Tag.Any || value == q.Tag.Value)
}

// Runs calls f for the attempts of the jobs in View:
// all attempts of a job, or only the current one.
func (b *Backend) Runs(_ context.Context, q job.RunQuery, f func(*job.Run) error) error {
	err := b.lock()
	views := slices.Clone(b.View.Jobs)
	b.mu.Unlock()
	for i := range views {
		v := &views[i]
		if err != nil || !q.Wants(&v.Owner) || v.Tasks != nil || v.Attempt == nil && v.Result == nil {
			continue
		}
		list := v.Attempts
		if len(list) == 0 && v.Attempt != nil {
			list = []job.Attempt{*v.Attempt}
		}
		if len(list) == 0 {
			r := job.RunOf(&v.Job, nil)
			err = f(&r)
		}
		for k := range list {
			if err == nil {
				r := job.RunOf(&v.Job, &list[k])
				err = f(&r)
			}
		}
	}
	return err
}

// Entitlement returns the field Entitled.
func (b *Backend) Entitlement(context.Context, int) (job.Entitlement, error) {
	err := b.lock()
	defer b.mu.Unlock()
	return b.Entitled, err
}
