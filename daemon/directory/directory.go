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
	askAgain   = 5 * time.Second // until what was not answered is asked again
	fresh      = 1 * time.Minute // how old an answer may be before the question is asked again
	certain    = 1 * time.Second // how old one may be that a start rests on
	keep       = 1 * time.Hour   // how long an entry is believed in that is not found any more
	trust      = 24 * time.Hour  // how long groups are believed in while there is no answer
	maxAsked   = 16              // questions at once
	maxOthers  = 12              // of these such as no client and no start of a job rests on
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

	person func(uid int) (person int, certain bool) // whose the uids of containers are; nil: each its own

	mu     sync.Mutex // guards the fields that follow
	known  shelves
	asking int
	others int           // of those, see maxOthers
	over   chan struct{} // closed when the next of those is over
	failed time.Time     // when a question was last found to go unanswered
	missed Query         // of our own, what was asked last and not answered
	last   Query         // and what was answered last
}

// entry is what is known of a question.
type entry struct {
	query   Query
	asker   int
	answer  Answer
	at      time.Time     // when that was said; zero: never
	found   time.Time     // when there was such an entry last
	began   time.Time     // when it was asked last
	pending chan struct{} // closed when the question under way is over; nil: none is
	failed  time.Time     // when it was found to go unanswered last; zero: it does not
	err     error         // why
}

// New makes one.
func New(files Files, ask func(context.Context, Query) (Answer, error)) *Directory {
	return &Directory{files: files, ask: ask, known: newShelves(), over: make(chan struct{})}
}

// Persons says whose the uids of containers are, before anything is asked: what is asked about
// them is asked for those.
func (d *Directory) Persons(of func(uid int) (person int, certain bool)) { d.person = of }

// asker is who has us ask about an account.
func (d *Directory) asker(uid int) int {
	if d.person != nil {
		if p, _ := d.person(uid); p != uid {
			return containersOf(p)
		}
	}
	return ourselves
}

// containersOf is who asks about the uids of an account's range. It is not the account: its range may
// take in those of others, whom the names that the account asks for keep from nothing.
func containersOf(owner int) int { return ourselves - 1 - owner }

// UserName names an account, "" where it has no name. It may wait.
func (d *Directory) UserName(uid int) string { return d.userName(uid, true) }

// Named reports whether an account has a number of the range of an owner's containers, and whether
// that is known, without waiting for it: until the directory has said so it is not.
func (d *Directory) Named(uid, owner int) (named, known bool) {
	q := Query{UserByID, strconv.Itoa(uid)}
	if d.files.UserName(uid) != "" || d.lookup(q, containersOf(owner), false).Found {
		return true, true
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.known.get(q)
	return false, d.ask == nil || !q.Valid() || e != nil && !e.at.IsZero()
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
	c := d.call(e, asker, true)
	old := func() bool { return e.at.IsZero() || time.Since(e.at) >= certain }
	for asked := false; old() && !asked && time.Now().Before(end); {
		d.put(c)
		if asked = e.pending != nil; asked {
			d.pass(e.pending, end)
		} else {
			d.pass(d.over, end) // too many are under way
		}
	}
	switch {
	case old():
		return Answer{}, cmp.Or(e.err, errLate)
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
	return 0, false, d.unknown(Query{UserByName, name}, asker)
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

// unknown says why somebody who asks learns nothing of a question, as the directory does not
// answer; nil: it has answered, or is asked nothing of the kind.
func (d *Directory) unknown(q Query, asker int) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.known.get(q)
	switch {
	case d.ask == nil || !q.Valid() || e != nil && time.Since(e.at) < fresh:
		return nil
	case e != nil && e.err != nil:
		return e.err
	case e == nil || e.at.IsZero():
		return cmp.Or(d.known.of(asker).err, errBusy)
	}
	return d.known.of(asker).err
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

// KnownMember is Member as far as it is known without waiting.
func (d *Directory) KnownMember(uid, gid int) (in, known bool) { return d.member(uid, gid, false) }

func (d *Directory) member(uid, gid int, wait bool) (in, known bool) {
	if in, known := d.files.Member(uid, gid); known {
		return in, true
	}
	if !d.hasGroup(uid, gid, wait) {
		return false, false
	}
	a := d.lookup(Query{GroupsOf, strconv.Itoa(uid)}, d.asker(uid), wait)
	return slices.Contains(a.Groups, gid), a.Found
}

// hasGroup reports whether a group of an account has a name.
func (d *Directory) hasGroup(uid, gid int, wait bool) bool {
	return d.files.HasGroup(gid) || d.lookup(Query{GroupByID, strconv.Itoa(gid)}, d.asker(uid), wait).Found
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
// in it, or the directory has answered that it does not know the account. A group without a name is not one that
// systemd can name for a unit.
func (d *Directory) InGroup(uid, gid int) bool {
	in, known := d.member(uid, gid, true)
	return in || !known && d.hasGroup(uid, gid, true) && d.answers(Query{GroupsOf, strconv.Itoa(uid)})
}

// answers reports whether the directory answers a question, as far as it was asked.
func (d *Directory) answers(q Query) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.known.get(q)
	return e == nil || e.err == nil && !e.at.IsZero()
}

// lookup returns what is known, and asks again where that is not as of today. With wait it waits
// for the answer, unless it did so in vain before. The number of a known name is not waited for;
// names and groups are, since they give rights and another account may have the number by now.
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
	c := d.call(e, asker, wait)
	vain := d.isVain(c)
	d.begin(c)
	if wait && !vain && (!e.answer.Found || q.Kind == GroupsOf || q.Kind == UserByID) {
		d.await(c)
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

// call is one caller's wish for the answer to a question.
type call struct {
	*entry
	of         *shelf // of the caller, who need not have asked it first
	ours, wait bool
}

func (d *Directory) call(e *entry, asker int, wait bool) call {
	return call{e, d.known.of(asker), asker == ourselves, wait}
}

// isPaced reports whether a question is put off while others of its caller go unanswered: a name
// that somebody asks for may be made up, and what we ask ourselves is no client's if nobody waits.
// Others are about accounts that are at the door, and have nothing to do with each other.
func (c *call) isPaced() bool { return c.ours && !c.wait || !c.ours && c.query.Kind == UserByName }

// isVain reports whether a question is one of those that go unanswered: it did itself, or what else
// is asked about its account, or what else its caller made up.
func (d *Directory) isVain(c call) bool {
	about := d.known.get(Query{UserByID, c.query.Key})
	ofAccount := c.query.Kind == GroupsOf && about != nil && d.rests(about)
	return ofAccount || d.rests(c.entry) || c.isPaced() && !c.of.silent.IsZero()
}

// rests reports whether a question was not answered and it is too early to wait for it again, or
// nothing else was answered since, either.
func (d *Directory) rests(e *entry) bool {
	return e.err != nil && (time.Since(e.failed) < askAgain || d.known.of(ourselves).answered.Before(e.failed))
}

// await waits for the answer to a question, and before it for a place where a client or a start
// rests on it: always, but for a name that somebody asks for.
func (d *Directory) await(c call) {
	end := time.Now().Add(patience)
	for c.pending == nil && (c.ours || c.query.Kind != UserByName) && time.Now().Before(end) {
		d.pass(d.over, end)
		d.begin(c)
	}
	if pending := c.pending; pending != nil {
		if d.pass(pending, end); c.pending == pending {
			d.fail(c, errLate)
		}
	}
}

// begin asks a question, but every askAgain alone what was not answered, and one of those alone
// that are put off for others of their caller.
func (d *Directory) begin(c call) {
	resting := c.isPaced() && !c.of.silent.IsZero() && (c.of.asking > 0 || time.Since(c.of.asked) < askAgain)
	if time.Since(c.failed) >= askAgain && !resting {
		d.put(c)
	}
}

// put asks a question, unless it is under way, or enough others are.
func (d *Directory) put(c call) {
	other := !c.ours || !c.wait
	full := d.asking >= maxAsked || other && d.others >= maxOthers || !c.ours && c.of.asking >= maxAskedBy
	if c.pending != nil || full {
		return
	}
	c.pending, c.began = make(chan struct{}), time.Now()
	d.asking++
	c.of.asking++
	c.of.asked = c.began
	if other {
		d.others++
	}
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), answerTime)
		defer cancel()
		a, err := d.ask(ctx, c.query)
		d.mu.Lock()
		defer d.mu.Unlock()
		d.asking--
		c.of.asking--
		if other {
			d.others--
		}
		d.end(c, a, err)
	}()
}

// end takes an answer, or notes that there was none.
func (d *Directory) end(c call, a Answer, err error) {
	close(c.pending)
	c.pending = nil
	close(d.over)
	d.over = make(chan struct{})
	if err != nil {
		d.fail(c, err)
		return
	}
	now := time.Now()
	for _, f := range []*shelf{c.of, d.known.of(ourselves)} { // any answer shows that there are answers
		f.answered, f.silent, f.err = now, time.Time{}, nil
	}
	if c.ours {
		d.last = c.query
	}
	c.failed, c.err = time.Time{}, nil
	if c.at = now; a.Found {
		c.answer, c.found = a, now
	} else if now.Sub(c.found) > keep {
		c.answer = Answer{}
	}
}

// fail notes that a question goes unanswered. Its caller is silent if none of the caller's was
// answered since.
func (d *Directory) fail(c call, err error) {
	c.failed, c.err = time.Now(), err
	d.failed = c.failed
	if c.ours {
		d.missed = c.query
	}
	if c.of.answered.After(c.began) {
		return
	}
	if c.of.err = err; c.of.silent.IsZero() {
		c.of.silent = c.failed
	}
}
