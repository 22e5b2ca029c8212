package sched

// pass is one pass over a queue at one moment. All parts of the planner read it.
type pass struct {
	s      *Snapshot
	q      *Queue
	number uint64 // the number of passes over the queue so far
	top    totals // over users in no group with a share, and groups with a share
	work   int    // the cost of the pass: the number of buckets, jobs and capacities at which it looked
}

// begin starts a pass and computes the values that determine the order of the jobs.
func (p *pass) begin(s *Snapshot, q *Queue) {
	q.passes++
	*p = pass{s: s, q: q, number: q.passes, top: p.top}
	p.beginAccounts()
	p.beginBatches()
}

// open prepares a footprint for the pass, unless the footprint is prepared already.
func (p *pass) open(f *footprint) {
	if f.pass == p.number {
		return
	}
	f.pass = p.number
	f.atStart, f.ever = unasked, unasked
	f.qualify(p.s)
	f.inService = 0
	for i, could := range f.qual {
		if could && p.s.GPUs[i].inService() {
			f.inService++
		}
	}
}
