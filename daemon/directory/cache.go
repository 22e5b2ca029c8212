package directory

import (
	"container/list"
	"time"
)

// answerCache keeps answers. Each asker, which is an account that asks, has a list of answers. An
// answer is in the list of its first asker, so a user who asks for many names evicts only answers
// in the user's own list.
type answerCache struct {
	entries map[Query]*list.Element // the values are *entry, in the list of an asker
	byAsker map[int]*askerState
}

// askerState is the state of one asker. Its list begins with the most recently used answer.
type askerState struct {
	list     *list.List
	asking   int       // number of questions in progress
	asked    time.Time // time of the last question
	answered time.Time // time of the last answer
	silent   time.Time // since then, no answer has come; zero: answers come
	err      error     // why no answer comes
}

func newCache() answerCache {
	return answerCache{map[Query]*list.Element{}, map[int]*askerState{}}
}

func (s *answerCache) len() int { return len(s.entries) }

// get returns the entry of a question, or nil.
func (s *answerCache) get(q Query) *entry {
	if at := s.entries[q]; at != nil {
		return at.Value.(*entry)
	}
	return nil
}

// asker returns the state of an asker.
func (s *answerCache) asker(asker int) *askerState {
	f := s.byAsker[asker]
	if f == nil {
		f = &askerState{list: list.New()}
		s.byAsker[asker] = f
	}
	return f
}

// entry returns the entry of a question. If there is none, it makes room and adds one. If the
// daemon itself asks, the entry moves to the daemon's list, even if another account asked first.
func (s *answerCache) entry(q Query, asker int) *entry {
	e := s.get(q)
	switch {
	case e == nil:
		e = &entry{query: q, asker: asker}
		s.makeRoom(asker)
	case asker == daemonItself && e.asker != daemonItself:
		s.remove(e)
		e.asker = daemonItself
		s.makeRoom(daemonItself)
	default:
		s.asker(e.asker).list.MoveToFront(s.entries[q])
		return e
	}
	s.entries[q] = s.asker(asker).list.PushFront(e)
	return e
}

// makeRoom evicts an entry if there is no room for another: an entry of the asker if the asker has
// too many, otherwise an entry of the account that has the most entries. Entries whose answer was
// "not found" are evicted first, and then the least recently used entry.
func (s *answerCache) makeRoom(asker int) {
	if f := s.asker(asker); asker != daemonItself && f.list.Len() >= maxKnownBy {
		s.remove(f.toEvict())
	}
	if s.len() < maxKnown {
		return
	}
	var most *askerState
	for of, f := range s.byAsker { // if two accounts have equally many, either will do
		if of != daemonItself && f.list.Len() > 0 && (most == nil || f.list.Len() > most.list.Len()) {
			most = f
		}
	}
	if most == nil {
		most = s.asker(daemonItself)
	}
	s.remove(most.toEvict())
}

// toEvict returns the entry to evict next.
func (f *askerState) toEvict() *entry {
	for at := f.list.Back(); at != nil; at = at.Prev() {
		if e := at.Value.(*entry); !e.answer.Found {
			return e
		}
	}
	return f.list.Back().Value.(*entry)
}

// remove deletes an entry. It also deletes the state of the entry's asker if that state is no
// longer needed.
func (s *answerCache) remove(e *entry) {
	f := s.asker(e.asker)
	f.list.Remove(s.entries[e.query])
	delete(s.entries, e.query)
	if f.list.Len() == 0 && f.asking == 0 {
		delete(s.byAsker, e.asker)
	}
}
