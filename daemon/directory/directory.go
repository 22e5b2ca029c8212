package directory

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"
)

const (
	patience   = 2 * time.Second // how long a caller waits for an answer
	answerTime = 5 * time.Second // how long one may take
	askAgain   = 5 * time.Second // between questions while there is no answer
	fresh      = 1 * time.Minute // how old an answer may be before the question is asked again
	keep       = 1 * time.Hour   // how long an entry is believed in that is not found any more
	maxAsked   = 16              // questions at once
	maxKnown   = 10000           // answers
)

var errLate = fmt.Errorf("nothing within %s", patience)

// Files are what the host's own files say, see package host.
type Files struct {
	UserName func(uid int) string
	UserID   func(name string) (int, bool)
	GroupID  func(name string) (int, bool)
	HasGroup func(gid int) bool
	Member   func(uid, gid int) (in, known bool)
}

// Directory answers who accounts and groups are.
type Directory struct {
	files Files
	ask   func(context.Context, Query) (Answer, error) // nil: there are the files alone

	mu       sync.Mutex // guards the fields that follow
	known    map[Query]*entry
	asking   int
	asked    time.Time // the last question
	answered time.Time // the last answer
	silent   time.Time // since when there is none; zero: there are answers
	err      error     // why
	missed   Query     // what was asked last and not answered
}

// entry is what is known of a question.
type entry struct {
	answer  Answer
	at      time.Time     // when that was said; zero: never
	found   time.Time     // when there was such an entry last
	pending chan struct{} // closed when the question under way is over; nil: none is
}

// New makes one.
func New(files Files, ask func(context.Context, Query) (Answer, error)) *Directory {
	return &Directory{files: files, ask: ask, known: map[Query]*entry{}}
}

// UserName names an account, "" where it has no name. It may wait.
func (d *Directory) UserName(uid int) string { return d.userName(uid, true) }

// KnownName is UserName as far as it is known without waiting.
func (d *Directory) KnownName(uid int) string { return d.userName(uid, false) }

func (d *Directory) userName(uid int, wait bool) string {
	if name := d.files.UserName(uid); name != "" {
		return name
	}
	name := d.lookup(Query{UserByID, strconv.Itoa(uid)}, wait).Name
	if _, taken := d.files.UserID(name); taken {
		return "" // the files have another account of this name
	}
	return name
}

// UserID returns the uid of the account of a name. It may wait.
func (d *Directory) UserID(name string) (int, bool) { return d.userID(name, true) }

// KnownID is UserID as far as it is known without waiting.
func (d *Directory) KnownID(name string) (int, bool) { return d.userID(name, false) }

func (d *Directory) userID(name string, wait bool) (int, bool) {
	if uid, ok := d.files.UserID(name); ok {
		return uid, true
	}
	a := d.lookup(Query{UserByName, name}, wait)
	if !a.Found || d.files.UserName(a.ID) != "" {
		return 0, false // the files have this uid under another name
	}
	return a.ID, true
}

// GroupID returns the gid of the group of a name. It may wait.
func (d *Directory) GroupID(name string) (int, bool) { return d.groupID(name, true) }

// KnownGroup is GroupID as far as it is known without waiting.
func (d *Directory) KnownGroup(name string) (int, bool) { return d.groupID(name, false) }

func (d *Directory) groupID(name string, wait bool) (int, bool) {
	if gid, ok := d.files.GroupID(name); ok || name == "" {
		return gid, ok
	}
	a := d.lookup(Query{GroupByName, name}, wait)
	if !a.Found || d.files.HasGroup(a.ID) {
		return 0, false
	}
	return a.ID, true
}

// Member reports whether an account is in a group today, if both are known. It
// waits for no account of the files'.
func (d *Directory) Member(uid, gid int) (in, known bool) {
	if in, known := d.files.Member(uid, gid); known {
		return in, true
	}
	wait := d.files.UserName(uid) == ""
	if !d.files.HasGroup(gid) && !d.lookup(Query{GroupByID, strconv.Itoa(gid)}, wait).Found {
		return false, false
	}
	a := d.lookup(Query{GroupsOf, strconv.Itoa(uid)}, wait)
	return slices.Contains(a.Groups, gid), a.Found
}

// InGroup is Member where whatever is not known counts as true.
func (d *Directory) InGroup(uid, gid int) bool {
	in, known := d.Member(uid, gid)
	return in || !known
}

// lookup returns what is known, and sees to it that it is as of today: with wait
// it waits for that, if the directory answers at all.
func (d *Directory) lookup(q Query, wait bool) Answer {
	if d.ask == nil || !q.Valid() {
		return Answer{}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.entry(q)
	if !e.at.IsZero() && time.Since(e.at) < fresh {
		return e.answer
	}
	d.begin(q, e)
	if wait && e.pending != nil && d.silent.IsZero() {
		d.await(q, e)
	}
	return e.answer
}

// await waits for the answer to a question that is under way. It gives the lock up
// meanwhile.
func (d *Directory) await(q Query, e *entry) {
	pending, began := e.pending, time.Now()
	d.mu.Unlock()
	select {
	case <-pending:
	case <-time.After(patience):
	}
	d.mu.Lock()
	if e.pending == pending && d.silent.IsZero() && d.answered.Before(began) {
		d.silent, d.err, d.missed = began, errLate, q
	}
}

// entry returns what is remembered of a question, and makes room for it.
func (d *Directory) entry(q Query) *entry {
	if e := d.known[q]; e != nil {
		return e
	}
	if len(d.known) >= maxKnown {
		maps.DeleteFunc(d.known, func(_ Query, e *entry) bool { return !e.answer.Found })
	}
	if len(d.known) >= maxKnown {
		clear(d.known)
	}
	e := &entry{}
	d.known[q] = e
	return e
}

// begin asks a question, unless it is under way, or enough others are.
func (d *Directory) begin(q Query, e *entry) {
	most, now := maxAsked, time.Now()
	if !d.silent.IsZero() {
		most = 1
		if now.Sub(d.asked) < askAgain {
			return
		}
	}
	if e.pending != nil || d.asking >= most {
		return
	}
	e.pending, d.asked = make(chan struct{}), now
	d.asking++
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), answerTime)
		defer cancel()
		a, err := d.ask(ctx, q)
		d.end(q, e, a, err)
	}()
}

// end takes an answer, or notes that there was none.
func (d *Directory) end(q Query, e *entry, a Answer, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asking--
	close(e.pending)
	e.pending = nil
	now := time.Now()
	if err != nil {
		if d.err, d.missed = err, q; d.silent.IsZero() {
			d.silent = now
		}
		return
	}
	d.answered, d.silent, d.err = now, time.Time{}, nil
	if e.at = now; a.Found {
		e.answer, e.found = a, now
	} else if now.Sub(e.found) > keep {
		e.answer = Answer{}
	}
}
