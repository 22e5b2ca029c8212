package events

import "github.com/gpusched/gpusched/daemon/job"

// Ring keeps the last events. It is not safe for concurrent use.
type Ring struct {
	most int
	last int64       // the number given last
	list []job.Event // the last one has the number last; of more than most, the first ones are not read
}

// NewRing makes a ring for most events that goes on after a number.
func NewRing(most int, after int64) *Ring { return &Ring{most: most, last: after} }

// Last returns the number that was given last.
func (r *Ring) Last() int64 { return r.last }

// Add keeps events that have the next numbers.
func (r *Ring) Add(list []job.Event) {
	if len(list) == 0 {
		return
	}
	r.last = list[len(list)-1].Number
	r.list = append(r.list, list...)
	if len(r.list) > 2*r.most { // whoever reads has a part of the old list, and keeps it as it is
		r.list = append(make([]job.Event, 0, 2*r.most), r.list[len(r.list)-r.most:]...)
	}
}

// After returns at most so many events after a number. After one that is not kept, or
// that was never given, it is a gap, and nothing.
func (r *Ring) After(number int64, most int) job.Events {
	out := job.Events{Last: r.last, Gap: true, Oldest: r.last - int64(min(len(r.list), r.most)), Newest: r.last}
	if number < out.Oldest || number > r.last {
		return out
	}
	list := r.list[len(r.list)-int(r.last-number):]
	n := min(len(list), most)
	out.List, out.Last, out.Gap = list[:n:n], number+int64(n), false
	return out
}
