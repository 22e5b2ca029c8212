package sched

// Wanted reports for each GPU, by position, whether it could serve a waiting job that asks for
// whole GPUs. Jobs that a quota or throttle holds back do not count. Callers must have carried out
// the plan before. The result uses the memory of list.
func (q *Queue) Wanted(s *Snapshot, list []bool) []bool {
	list = append(list[:0], make([]bool, len(s.GPUs))...)
	for _, b := range q.buckets {
		if b.shape.whole == 0 || b.account.isCapped(&b.shape.amount) || !b.hasWaiting() {
			continue
		}
		b.shape.qualify(s)
		for i, could := range b.shape.qual {
			list[i] = list[i] || could && s.GPUs[i].mayServe()
		}
	}
	return list
}

// hasWaiting reports whether the bucket has a job that no throttle holds back. Callers must have
// carried out the plan before. If they have not, they use pass.leavesWaiting.
func (b *bucket) hasWaiting() bool {
	for e := b.head; e != nil; e = e.next {
		if e.Throttle.Full() == nil {
			return true
		}
	}
	return false
}

// mayServe reports whether the GPU is in service, or may be.
func (g *GPU) mayServe() bool { return g.State == OK || g.State == Unknown || g.State == Cleaning }
