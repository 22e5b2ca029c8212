package sched

// Wanted reports of each GPU, by position, whether a job that asks whole ones waits for
// room, whom no quota of its account or array keeps back and whom the GPU could serve.
// It is asked after a pass, once the plan has been carried out, and fills in list.
func (q *Queue) Wanted(s *Snapshot, list []bool) []bool {
	list = list[:0]
	for range s.GPUs {
		list = append(list, false)
	}
	for _, b := range q.buckets {
		if b.shape.whole == 0 || b.account.capped(&b.shape.amount) || !b.waits() {
			continue
		}
		b.shape.qualify(s)
		for i, could := range b.shape.qual {
			list[i] = list[i] || could && s.GPUs[i].serves()
		}
	}
	return list
}

// waits reports whether a job of the bucket is held back by no array. It reads what is on
// record once the plan has been carried out; Planner.leaves asks the same before that, and
// so counts what its pass has started.
func (b *bucket) waits() bool {
	for e := b.head; e != nil; e = e.next {
		if e.Throttle == nil || e.Throttle.Left > 0 {
			return true
		}
	}
	return false
}

// serves reports whether the GPU is in service, as far as is known.
func (g *GPU) serves() bool { return g.State == OK || g.State == Unknown || g.State == Cleaning }
