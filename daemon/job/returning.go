package job

import "slices"

// ReturnRequest returns what a parked job asks for to return: exactly the GPUs of its attempt, and
// nothing else. The GPU of which it has a part comes last.
func (j *Job) ReturnRequest() *Request {
	held := slices.Clone(j.Attempt.GPUs)
	slices.SortStableFunc(held, func(a, b Allocation) int { return b.Share() - a.Share() })
	ids := make([]int, len(held))
	for i, g := range held {
		ids[i] = g.Index
	}
	return j.Request.Only(ids)
}

// Only returns the request for exactly these GPUs, without host resources.
func (r *Request) Only(ids []int) *Request {
	own := *r
	own.GPUIDs, own.GPUsFrom, own.ExcludeGPUs = ids, nil, nil
	own.MemBytes, own.CPUs = 0, 0
	return &own
}
