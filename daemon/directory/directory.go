package directory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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
	certain    = 1 * time.Second // how old one may be that a start rests on
	keep       = 1 * time.Hour   // how long an entry is believed in that is not found any more
	trust      = 24 * time.Hour  // how long groups are believed in while there is no answer
	maxAsked   = 16              // questions at once
	maxKnown   = 10000           // answers
	maxAskedBy = 4               // questions at once for one account
	maxKnownBy = 200             // answers that are kept for one account
)

// ourselves is who asks where nobody chose the question: it is about a client, or named by
// the settings.
const ourselves = -1

var (
	errLate = fmt.Errorf("nothing within %s", patience)
	errBusy = errors.New("other questions are under way")
)

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

	person func(uid int) int // whose the uids of containers are; nil: each its own

	mu       sync.Mutex // guards the fields that follow
	known    shelves
	asking   int
	over     chan struct{} // closed when the next of those is over
	asked    time.Time     // the last question
	answered time.Time     // the last answer
	silent   time.Time     // since when there is none; zero: there are answers
	err      error         // why
	missed   Query         // what was asked last and not answered
}

// entry is what is known of a question.
type entry struct {
	query   Query
	asker   int
	answer  Answer
	at      time.Time     // when that was said; zero: never
	found   time.Time     // when there was such an entry last
	pending chan struct{} // closed when the question under way is over; nil: none is
}

// New makes one.
func New(files Files, ask func(context.Context, Query) (Answer, error)) *Directory {
	return &Directory{files: files, ask: ask, known: newShelves(), over: make(chan struct{})}
}

// Persons says whose the uids of containers are, before anything is asked: what is asked about
// them is asked by those.
func (d *Directory) Persons(of func(uid int) int) { d.person = of }

// asker is who has us ask about an account.
func (d *Directory) asker(uid int) int {
	if d.person != nil {
		if p := d.person(uid); p != uid {
			return p
		}
	}
	return ourselves
}

// UserName names an account, "" where it has no name. It may wait.
func (d *Directory) UserName(uid int) string { return d.userName(uid, true) }

// Named reports whether an account has a number, as far as it is known without waiting: the owner
// of a range of subordinate uids has it asked.
func (d *Directory) Named(uid, asker int) bool {
	return d.files.UserName(uid) != "" || d.lookup(Query{UserByID, strconv.Itoa(uid)}, asker, false).Found
}

// KnownName is UserName as far as it is known without waiting.
func (d *Directory) KnownName(uid int) string { return d.userName(uid, false) }

func (d *Directory) userName(uid int, wait bool) string {
	if name := d.files.UserName(uid); name != "" {
		return name
	}
	name := d.lookup(Query{UserByID, strconv.Itoa(uid)}, d.asker(uid), wait).Name
	if _, taken := d.files.UserID(name); taken {
		return "" // the files have another account of this name
	}
	return name
}

// NameToday returns the name that the account of a number has now: the one that it had, where
// that is still one of its names, and "" where there is no such account. The error says why that
// is not known: a start rests on it. The directory is asked, unless it said so within the last
// moment, and no answer is waited for longer than wait.
func (d *Directory) NameToday(uid int, was string, wait time.Duration) (string, error) {
	end := time.Now().Add(wait)
	if name := d.files.UserName(uid); name != "" {
		if id, known := d.files.UserID(was); name != was && known && id == uid {
			return was, nil
		}
		return name, nil
	}
	now, err := d.today(Query{UserByID, strconv.Itoa(uid)}, d.asker(uid), end)
	if err != nil || !now.Found || now.Name == was {
		return now.Name, err
	}
	same, err := d.today(Query{UserByName, was}, d.asker(uid), end)
	if same.Found && same.ID == uid {
		return was, err
	}
	if _, taken := d.files.UserID(now.Name); taken { // as userName has it
		return strconv.Itoa(uid), err
	}
	return now.Name, err
}

// today returns what the directory says of a question now, whatever it said before. It asks also
// while there are no answers to others: one name that is slow keeps no other account from starting.
func (d *Directory) today(q Query, asker int, end time.Time) (Answer, error) {
	if d.ask == nil || !q.Valid() {
		return Answer{}, nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.known.entry(q, asker)
	old := func() bool { return e.at.IsZero() || time.Since(e.at) >= certain }
	for asked := false; old() && !asked && time.Now().Before(end); {
		d.put(q, e)
		if asked = e.pending != nil; asked {
			d.pass(e.pending, end)
		} else {
			d.pass(d.over, end) // too many are under way
		}
	}
	switch {
	case old():
		return Answer{}, cmp.Or(d.err, errLate)
	case !e.found.Equal(e.at): // what it said before stays for those who only show it
		return Answer{}, nil
	}
	return e.answer, nil
}

// pass waits until a question is over, and no longer than end. It gives the lock up meanwhile.
func (d *Directory) pass(over chan struct{}, end time.Time) {
	d.mu.Unlock()
	select {
	case <-over:
	case <-time.After(time.Until(end)):
	}
	d.mu.Lock()
}

// UserID returns the uid of the account of a name that an account asks for. It may wait
// where nothing is known of it. The error says why it is not known whether there is one.
func (d *Directory) UserID(asker int, name string) (uid int, found bool, err error) {
	if uid, found = d.userID(name, asker, true); found {
		return uid, true, nil
	}
	return 0, false, d.unknown(Query{UserByName, name})
}

// KnownID is UserID as far as it is known without waiting.
func (d *Directory) KnownID(name string) (int, bool) { return d.userID(name, ourselves, false) }

func (d *Directory) userID(name string, asker int, wait bool) (int, bool) {
	if uid, ok := d.files.UserID(name); ok {
		return uid, true
	}
	a := d.lookup(Query{UserByName, name}, asker, wait)
	if !a.Found || d.files.UserName(a.ID) != "" {
		return 0, false // the files have this uid under another name
	}
	return a.ID, true
}

// unknown says why nothing is known of a question, as the directory does not answer; nil:
// it has answered, or is asked nothing of the kind.
func (d *Directory) unknown(q Query) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.known.get(q)
	switch {
	case d.ask == nil || !q.Valid() || e != nil && time.Since(e.at) < fresh:
		return nil
	case d.err != nil:
		return d.err
	case e == nil || e.at.IsZero():
		return errBusy
	}
	return nil
}

// GroupID returns the gid of the group of a name. It may wait.
func (d *Directory) GroupID(name string) (int, bool) { return d.groupID(name, true) }

// KnownGroup is GroupID as far as it is known without waiting.
func (d *Directory) KnownGroup(name string) (int, bool) { return d.groupID(name, false) }

func (d *Directory) groupID(name string, wait bool) (int, bool) {
	if gid, ok := d.files.GroupID(name); ok || name == "" {
		return gid, ok
	}
	a := d.lookup(Query{GroupByName, name}, ourselves, wait)
	if !a.Found || d.files.HasGroup(a.ID) {
		return 0, false
	}
	return a.ID, true
}

// Member reports whether an account is in a group today, if both are known. It
// waits for no account of the files'.
func (d *Directory) Member(uid, gid int) (in, known bool) {
	return d.member(uid, gid, d.files.UserName(uid) == "")
}

func (d *Directory) member(uid, gid int, wait bool) (in, known bool) {
	if in, known := d.files.Member(uid, gid); known {
		return in, true
	}
	if !d.files.HasGroup(gid) && !d.lookup(Query{GroupByID, strconv.Itoa(gid)}, d.asker(uid), wait).Found {
		return false, false
	}
	a := d.lookup(Query{GroupsOf, strconv.Itoa(uid)}, d.asker(uid), wait)
	return slices.Contains(a.Groups, gid), a.Found
}

// Holds reports whether an account is in a group, for rights: what is not known gives none. It
// may wait, for accounts of the files too where the group is not the files'.
func (d *Directory) Holds(uid, gid int) bool {
	if in, known := d.files.Member(uid, gid); known {
		return in
	}
	return slices.Contains(d.lookup(Query{GroupsOf, strconv.Itoa(uid)}, d.asker(uid), true).Groups, gid)
}

// InGroup reports whether an account may still have a group that the kernel said it has: it is
// in it, or neither the files nor the directory, which answers, know both.
func (d *Directory) InGroup(uid, gid int) bool {
	in, known := d.member(uid, gid, true)
	return in || !known && d.answers()
}

// answers reports whether the directory answers, or there is none.
func (d *Directory) answers() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.silent.IsZero()
}

// lookup returns what is known, and sees to it that it is as of today: with wait
// it waits for that, if the directory answers at all, but for the number of a name that is known.
// A name and groups give rights, as an account may have got the number of another.
func (d *Directory) lookup(q Query, asker int, wait bool) Answer {
	if d.ask == nil || !q.Valid() {
		return Answer{}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.known.entry(q, asker)
	if !e.at.IsZero() && time.Since(e.at) < fresh {
		return e.answer
	}
	d.begin(q, e)
	if wait && e.pending != nil && d.silent.IsZero() && (!e.answer.Found || q.Kind == GroupsOf || q.Kind == UserByID) {
		d.await(q, e)
	}
	return e.believed(time.Now())
}

// believed is the answer as far as it is believed in: names stay, groups give rights.
func (e *entry) believed(now time.Time) Answer {
	if e.query.Kind == GroupsOf && now.Sub(e.found) > trust {
		return Answer{}
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

// begin asks a question, but while there are no answers one every askAgain alone.
func (d *Directory) begin(q Query, e *entry) {
	if d.silent.IsZero() || d.asking == 0 && time.Since(d.asked) >= askAgain {
		d.put(q, e)
	}
}

// put asks a question, unless it is under way, or enough others are.
func (d *Directory) put(q Query, e *entry) {
	shelf := d.known.of(e.asker)
	if e.pending != nil || d.asking >= maxAsked || e.asker != ourselves && shelf.asking >= maxAskedBy {
		return
	}
	e.pending, d.asked = make(chan struct{}), time.Now()
	d.asking++
	shelf.asking++
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), answerTime)
		defer cancel()
		a, err := d.ask(ctx, q)
		d.end(q, e, shelf, a, err)
	}()
}

// end takes an answer, or notes that there was none.
func (d *Directory) end(q Query, e *entry, of *shelf, a Answer, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asking--
	of.asking--
	close(e.pending)
	e.pending = nil
	close(d.over)
	d.over = make(chan struct{})
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
