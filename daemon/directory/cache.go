package directory

import (
	"container/list"
	"time"
)

// answerCache are the answers that are kept, by who asked first: a user who asks for many names only
// evicts answers of their own.
type answerCache struct {
	entries map[Query]*list.Element // of an *entry, in the list of its asker
	byAsker map[int]*askerState
}

// askerState is the state of one asker. Its list has the most recently used answers first.
type askerState struct {
	list     *list.List
	asking   int       // questions under way
	asked    time.Time // when the last question was asked
	answered time.Time // when the last answer came
	silent   time.Time // since when no answer has come; zero: answers come
	err      error     // why none comes
}

func newCache() answerCache {
	return answerCache{map[Query]*list.Element{}, map[int]*askerState{}}
}

func (s *answerCache) len() int { return len(s.entries) }

// get returns the entry of a question, nil if there is none.
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

// entry returns the entry of a question, and makes room for it if it is new. A question of the
// daemon itself becomes its own, whoever asked it before.
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

// makeRoom evicts the entry that was not used for longest: one of the asker's if the asker has
// many, or else one of the account that has the most. Entries that were not found go first.
func (s *answerCache) makeRoom(asker int) {
	if f := s.asker(asker); asker != daemonItself && f.list.Len() >= maxKnownBy {
		s.remove(f.last())
	}
	if s.len() < maxKnown {
		return
	}
	var most *askerState
	for of, f := range s.byAsker { // of two accounts with the same number, either will do
		if of != daemonItself && f.list.Len() > 0 && (most == nil || f.list.Len() > most.list.Len()) {
			most = f
		}
	}
	if most == nil {
		most = s.asker(daemonItself)
	}
	s.remove(most.last())
}

// last returns the entry that is evicted first.
func (f *askerState) last() *entry {
	for at := f.list.Back(); at != nil; at = at.Prev() {
		if e := at.Value.(*entry); !e.answer.Found {
			return e
		}
	}
	return f.list.Back().Value.(*entry)
}

// remove deletes an entry, and the state of its asker if it is no longer needed.
func (s *answerCache) remove(e *entry) {
	f := s.asker(e.asker)
	f.list.Remove(s.entries[e.query])
	delete(s.entries, e.query)
	if f.list.Len() == 0 && f.asking == 0 {
		delete(s.byAsker, e.asker)
	}
}
