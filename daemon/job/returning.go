package job

import "slices"

// Return returns what a parked job asks for to get back the GPUs that it held: exactly these GPUs,
// and nothing else. The GPU of which it has a part comes last.
func (r *Request) Return(held []Allocation) *Request {
	held = slices.Clone(held)
	slices.SortStableFunc(held, func(a, b Allocation) int { return b.Share() - a.Share() })
	ids := make([]int, len(held))
	for i, g := range held {
		ids[i] = g.Index
	}
	return r.Only(ids)
}

// Only returns the request for exactly these GPUs, without host resources.
func (r *Request) Only(ids []int) *Request {
	own := *r
	own.GPUIDs, own.GPUsFrom, own.ExcludeGPUs = ids, nil, nil
	own.MemBytes, own.CPUs = 0, 0
	return &own
}
