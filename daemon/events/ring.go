package events

import "github.com/gpusched/gpusched/daemon/job"

// A Ring keeps the last events. It is not safe for concurrent use.
type Ring struct {
	most int
	last int64       // number of the last event
	list []job.Event // oldest first; up to half of them, the oldest, are no longer kept
}

// NewRing returns a ring that keeps the given number of events. Its first event will have the
// number after the argument last.
func NewRing(size int, last int64) *Ring { return &Ring{most: size, last: last} }

// Last returns the number of the last event.
func (r *Ring) Last() int64 { return r.last }

// Add appends events, whose numbers must follow the last number.
func (r *Ring) Add(list []job.Event) {
	if len(list) == 0 {
		return
	}
	r.last = list[len(list)-1].Number
	r.list = append(r.list, list...)
	if len(r.list) > 2*r.most { // a copy, because readers hold parts of the old list
		r.list = append(make([]job.Event, 0, 2*r.most), r.list[len(r.list)-r.most:]...)
	}
}

// After returns the events after a number, no more than the given number of events. If the ring no
// longer keeps these events, or the number was never used, After returns a gap without events.
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
