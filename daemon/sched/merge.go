package sched

import (
	"slices"

	"github.com/gpusched/gpusched/daemon/job"
)

// head returns the first n jobs in order, by merging the sorted buckets. Its cost depends on n and
// the number of buckets, not on the number of jobs. begin must have been called for the pass.
func (w *walk) head(n int) []job.ID {
	w.begin()
	for _, b := range w.pass.q.buckets {
		w.fit.list = append(w.fit.list, w.atHead(b))
	}
	w.fit.order()
	ids := make([]job.ID, 0, min(n, len(w.pass.q.entries)))
	for len(ids) < n && len(w.fit.list) > 0 {
		c := w.fit.first()
		ids = append(ids, c.entry.ID)
		if c.entry = c.entry.next; c.entry != nil {
			w.pass.rank(&c.rank, c.bucket, c.entry)
		}
		w.fit.reinsert(c.entry != nil)
	}
	return ids
}

// Arrange returns those of the given jobs that are in the queue, in the order of a pass.
func (p *Planner) Arrange(s *Snapshot, q *Queue, ids []job.ID) []job.ID {
	p.begin(s, q)
	var list []rank
	for _, id := range ids {
		if e := q.entries[id]; e != nil {
			list = append(list, p.pass.cursor(e.bucket, e).rank)
		}
	}
	return sorted(list)
}

// sorted returns the jobs in order.
func sorted(list []rank) []job.ID {
	slices.SortFunc(list, func(a, b rank) int {
		if a.isBefore(&b) {
			return -1
		}
		return 1
	})
	ids := make([]job.ID, len(list))
	for i, r := range list {
		ids[i] = r.id
	}
	return ids
}
