package api

import "slices"

// InListOrder sorts the jobs of several listings in the order of a single listing. Running jobs are
// first, in the order of byStart, or in their present order if byStart is nil. Waiting jobs follow
// in their present order, and then ended jobs, newest first.
func InListOrder(list []Job, byStart func(x, y *Job) int) {
	order := func(x, y *Job) int {
		switch rank := x.State.ListRank(); {
		case rank != y.State.ListRank():
			return rank - y.State.ListRank()
		case rank == 2:
			return y.EndedAt.Compare(x.EndedAt)
		case rank == 0 && byStart != nil:
			return byStart(x, y)
		}
		return 0
	}
	sorted := true
	all := make([]*Job, len(list)) // pointers, because jobs are large
	for i := range list {
		all[i] = &list[i]
		sorted = sorted && (i == 0 || order(all[i-1], all[i]) <= 0)
	}
	if sorted {
		return
	}
	slices.SortStableFunc(all, order)
	out := make([]Job, len(list))
	for i, j := range all {
		out[i] = *j
	}
	copy(list, out)
}
