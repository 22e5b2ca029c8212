package sched

// pass is one look over a queue at one moment. All parts of the planner read it.
type pass struct {
	s      *Snapshot
	q      *Queue
	number uint64 // of the passes over the queue
	work   int    // jobs, buckets and capacities that were looked at: what the pass costs
}

// begin starts a pass: it computes what the order of the jobs depends on.
func (p *pass) begin(s *Snapshot, q *Queue) {
	q.passes++
	p.s, p.q, p.number, p.work = s, q, q.passes, 0
	p.beginAccounts()
	p.beginBatches()
}

// open resets what a footprint knows of an earlier pass.
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
