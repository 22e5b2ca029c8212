package directory

import (
	"container/list"
	"time"
)

// shelves hold what is remembered, by who asked for it first: whoever asks for many names has
// only answers of their own forgotten.
type shelves struct {
	entries map[Query]*list.Element // of an *entry, on its asker's shelf
	byAsker map[int]*shelf
}

// shelf is what one account has asked for, or ourselves, the last used first.
type shelf struct {
	list     *list.List
	asking   int       // questions under way
	asked    time.Time // the last one
	answered time.Time // the last answer
	silent   time.Time // since when there is none; zero: there are answers
	err      error     // why
}

func newShelves() shelves {
	return shelves{map[Query]*list.Element{}, map[int]*shelf{}}
}

func (s *shelves) len() int { return len(s.entries) }

// get returns what is remembered of a question; nil: nothing.
func (s *shelves) get(q Query) *entry {
	if at := s.entries[q]; at != nil {
		return at.Value.(*entry)
	}
	return nil
}

// of returns the shelf of who asks.
func (s *shelves) of(asker int) *shelf {
	f := s.byAsker[asker]
	if f == nil {
		f = &shelf{list: list.New()}
		s.byAsker[asker] = f
	}
	return f
}

// entry returns what is remembered of a question, and makes room for it. What we ask ourselves
// is ours, whoever asked for it before.
func (s *shelves) entry(q Query, asker int) *entry {
	e := s.get(q)
	switch {
	case e == nil:
		e = &entry{query: q, asker: asker}
		s.makeRoom(asker)
	case asker == ourselves && e.asker != ourselves:
		s.remove(e)
		e.asker = ourselves
		s.makeRoom(ourselves)
	default:
		s.of(e.asker).list.MoveToFront(s.entries[q])
		return e
	}
	s.entries[q] = s.of(asker).list.PushFront(e)
	return e
}

// makeRoom forgets what was not used for longest: of who asks, where that is much, or else of the
// account that has asked for most. What there is not goes first.
func (s *shelves) makeRoom(asker int) {
	if f := s.of(asker); asker != ourselves && f.list.Len() >= maxKnownBy {
		s.remove(f.last())
	}
	if s.len() < maxKnown {
		return
	}
	var most *shelf
	for of, f := range s.byAsker { // of two that have as many it is no matter which
		if of != ourselves && f.list.Len() > 0 && (most == nil || f.list.Len() > most.list.Len()) {
			most = f
		}
	}
	if most == nil {
		most = s.of(ourselves)
	}
	s.remove(most.last())
}

// last is what is forgotten first of what is on the shelf.
func (f *shelf) last() *entry {
	for at := f.list.Back(); at != nil; at = at.Prev() {
		if e := at.Value.(*entry); !e.answer.Found {
			return e
		}
	}
	return f.list.Back().Value.(*entry)
}

// remove takes an entry away, and a shelf that nothing needs any more.
func (s *shelves) remove(e *entry) {
	f := s.of(e.asker)
	f.list.Remove(s.entries[e.query])
	delete(s.entries, e.query)
	if f.list.Len() == 0 && f.asking == 0 {
		delete(s.byAsker, e.asker)
	}
}
