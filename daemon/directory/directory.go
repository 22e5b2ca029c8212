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
	patience     = 2 * time.Second // how long a caller waits for an answer
	answerTime   = 5 * time.Second // how long an answer may take
	askAgain     = 5 * time.Second // how long until an unanswered question is asked again
	fresh        = 1 * time.Minute // an older answer makes us ask again
	maxStartAge  = 1 * time.Second // a start may not rely on an older answer
	keepMissing  = 1 * time.Hour   // how long an entry is used after it was last found
	trustGroups  = 24 * time.Hour  // how long a user's groups are used without an answer
	maxAsked     = 16              // questions under way
	maxNotUrgent = 12              // of these, questions that no client and no start waits for
	maxKnown     = 10000           // answers
	maxAskedBy   = 4               // questions under way for one account
	maxKnownBy   = 200             // answers that are kept for one account
)

// daemonItself is the asker of a question that no user chose: it is about a client, or the settings
// name it.
const daemonItself = -1

var (
	errLate = fmt.Errorf("no answer within %s", patience)
	errBusy = errors.New("too many other questions are under way")
)

// Files looks up accounts and groups in the host's own files, see package host.
type Files struct {
	UserName func(uid int) string
	UserID   func(name string) (int, bool)
	GroupID  func(name string) (int, bool)
	HasGroup func(gid int) bool
	Member   func(uid, gid int) (in, known bool)
}

// Directory answers questions about accounts and groups.
type Directory struct {
	files Files
	ask   func(context.Context, Query) (Answer, error) // nil: there are only the files

	person func(uid int) (person int, certain bool) // the owner of a container's uid; nil: each uid is its own

	mu           sync.Mutex // guards the fields that follow
	cache        answerCache
	asking       int
	notUrgent    int           // of asking, see maxNotUrgent
	anyDone      chan struct{} // closed, and made anew, when any question ends
	failed       time.Time     // when a question was last found to be unanswered
	lastMissed   Query         // of our own questions, the last one without an answer
	lastAnswered Query         // and the last one with an answer
}

// entry is what is known about a question.
type entry struct {
	query   Query
	asker   int
	answer  Answer
	at      time.Time     // of the last answer; zero: none yet
	found   time.Time     // when the directory last had such an entry
	began   time.Time     // when the question was last asked
	pending chan struct{} // closed when the question under way ends; nil: none is
	failed  time.Time     // when it was last found to be unanswered; zero: it was answered
	err     error         // why it is unanswered
}

// New returns a directory that asks with ask.
func New(files Files, ask func(context.Context, Query) (Answer, error)) *Directory {
	return &Directory{files: files, ask: ask, cache: newCache(), anyDone: make(chan struct{})}
}

// Persons sets the function that finds the owner of a container's uid. Questions about such a uid
// count as the owner's. It must be called before anything is asked.
func (d *Directory) Persons(of func(uid int) (person int, certain bool)) { d.person = of }

// asker returns who is the asker of a question about an account.
func (d *Directory) asker(uid int) int {
	if d.person != nil {
		if p, _ := d.person(uid); p != uid {
			return containersOf(p)
		}
	}
	return daemonItself
}

// containersOf is the asker of questions about the uids in an owner's range. It is not the owner:
// the range may include the accounts of others, and the names that the owner asks for must not
// delay those.
func containersOf(owner int) int { return daemonItself - 1 - owner }

// UserName returns the name of an account, or "" if it has none. It may wait.
func (d *Directory) UserName(uid int) string { return d.userName(uid, true) }

// Named reports whether an account has a uid in the range of an owner's containers, and whether
// that is known. It does not wait: it is not known until the directory has answered.
func (d *Directory) Named(uid, owner int) (named, known bool) {
	q := Query{UserByID, strconv.Itoa(uid)}
	if d.files.UserName(uid) != "" || d.lookup(q, containersOf(owner), false).Found {
		return true, true
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.cache.get(q)
	return false, d.ask == nil || !q.Valid() || e != nil && !e.at.IsZero()
}

// KnownName is like UserName, but does not wait.
func (d *Directory) KnownName(uid int) string { return d.userName(uid, false) }

func (d *Directory) userName(uid int, wait bool) string {
	if name := d.files.UserName(uid); name != "" {
		return name
	}
	name := d.lookup(Query{UserByID, strconv.Itoa(uid)}, d.asker(uid), wait).Name
	if _, taken := d.files.UserID(name); taken {
		return "" // the files have this name for another account
	}
	return name
}

// NameToday returns the name that an account has now: was, if that is still one of its names, and
// "" if there is no such account. A start relies on it, so the directory is asked unless it
// answered within the last second. NameToday waits no longer than wait. The error says why the name
// is unknown.
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
	if _, taken := d.files.UserID(now.Name); taken { // like userName
		return strconv.Itoa(uid), err
	}
	return now.Name, err
}

// today returns the directory's answer to a question now, whatever it answered before. It also asks
// while other questions are unanswered: one slow name must not keep another account from starting.
func (d *Directory) today(q Query, asker int, end time.Time) (Answer, error) {
	if d.ask == nil || !q.Valid() {
		return Answer{}, nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.cache.entry(q, asker)
	c := d.call(e, asker, true)
	old := func() bool { return e.at.IsZero() || time.Since(e.at) >= maxStartAge }
	for asked := false; old() && !asked && time.Now().Before(end); {
		d.start(c)
		if asked = e.pending != nil; asked {
			d.waitFor(e.pending, end)
		} else {
			d.waitFor(d.anyDone, end) // too many questions are under way
		}
	}
	switch {
	case old():
		return Answer{}, cmp.Or(e.err, errLate)
	case !e.found.Equal(e.at): // the older answer stays for callers that only show it
		return Answer{}, nil
	}
	return e.answer, nil
}

// waitFor waits until a channel is closed, or until end. It releases the lock meanwhile.
func (d *Directory) waitFor(done chan struct{}, end time.Time) {
	d.mu.Unlock()
	select {
	case <-done:
	case <-time.After(time.Until(end)):
	}
	d.mu.Lock()
}

// UserID returns the uid of the account with a name; asker is the account that asks. It may wait if
// nothing is known about the name. The error says why it is unknown whether there is such an
// account.
func (d *Directory) UserID(asker int, name string) (uid int, found bool, err error) {
	if uid, found = d.userID(name, asker, true); found {
		return uid, true, nil
	}
	return 0, false, d.unknown(Query{UserByName, name}, asker)
}

// KnownID is like UserID, but does not wait.
func (d *Directory) KnownID(name string) (int, bool) { return d.userID(name, daemonItself, false) }

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

// unknown says why the directory gives an asker no answer to a question. It returns nil if the
// directory has answered, or is not asked such questions.
func (d *Directory) unknown(q Query, asker int) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.cache.get(q)
	switch {
	case d.ask == nil || !q.Valid() || e != nil && time.Since(e.at) < fresh:
		return nil
	case e != nil && e.err != nil:
		return e.err
	case e == nil || e.at.IsZero():
		return cmp.Or(d.cache.asker(asker).err, errBusy)
	}
	return d.cache.asker(asker).err
}

// GroupID returns the gid of the group with a name. It may wait.
func (d *Directory) GroupID(name string) (int, bool) { return d.groupID(name, true) }

// KnownGroup is like GroupID, but does not wait.
func (d *Directory) KnownGroup(name string) (int, bool) { return d.groupID(name, false) }

func (d *Directory) groupID(name string, wait bool) (int, bool) {
	if gid, ok := d.files.GroupID(name); ok || name == "" {
		return gid, ok
	}
	a := d.lookup(Query{GroupByName, name}, daemonItself, wait)
	if !a.Found || d.files.HasGroup(a.ID) {
		return 0, false
	}
	return a.ID, true
}

// Member reports whether an account is now in a group. known is false unless both are known. It
// does not wait for an account in the files.
func (d *Directory) Member(uid, gid int) (in, known bool) {
	return d.member(uid, gid, d.files.UserName(uid) == "")
}

// KnownMember is like Member, but does not wait.
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

// hasGroup reports whether a group has a name; uid is the account whose group it is.
func (d *Directory) hasGroup(uid, gid int, wait bool) bool {
	return d.files.HasGroup(gid) || d.lookup(Query{GroupByID, strconv.Itoa(gid)}, d.asker(uid), wait).Found
}

// Holds reports whether an account has the rights of a group. An unknown membership gives no rights. It
// may wait, also for an account in the files if the group is not in them.
func (d *Directory) Holds(uid, gid int) bool {
	if in, known := d.files.Member(uid, gid); known {
		return in
	}
	return slices.Contains(d.lookup(Query{GroupsOf, strconv.Itoa(uid)}, d.asker(uid), true).Groups, gid)
}

// InGroup reports whether an account may keep a group that the kernel reported for it. It may if it
// is in the group, or if the directory has answered that it does not know the account. It may not
// if the group has no name: then systemd can't name it for a unit.
func (d *Directory) InGroup(uid, gid int) bool {
	in, known := d.member(uid, gid, true)
	return in || !known && d.hasGroup(uid, gid, true) && d.answers(Query{GroupsOf, strconv.Itoa(uid)})
}

// answers reports whether the directory answers a question, or has not been asked.
func (d *Directory) answers(q Query) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.cache.get(q)
	return e == nil || e.err == nil && !e.at.IsZero()
}

// lookup returns what is known about a question, and asks it again if the answer is older than
// fresh. With wait it waits for the answer, unless it is likely that none comes. It does not wait
// for the number of a name that is known. It waits for groups and for names of numbers even if they
// are known: they give rights, and the number may be another account's by now.
func (d *Directory) lookup(q Query, asker int, wait bool) Answer {
	if d.ask == nil || !q.Valid() {
		return Answer{}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.cache.entry(q, asker)
	if !e.at.IsZero() && time.Since(e.at) < fresh {
		return e.answer
	}
	c := d.call(e, asker, wait)
	vain := d.expectsSilence(c)
	d.askIfDue(c)
	if wait && !vain && (!e.answer.Found || q.Kind == GroupsOf || q.Kind == UserByID) {
		d.await(c)
	}
	return e.believed(time.Now())
}

// believed returns the answer if it may still be used. Groups give rights and are used for a day
// without a new answer; names have no limit.
func (e *entry) believed(now time.Time) Answer {
	if e.query.Kind == GroupsOf && now.Sub(e.found) > trustGroups {
		return Answer{}
	}
	return e.answer
}

// call is one asker's request for an answer.
type call struct {
	*entry
	of         *askerState // of the asker, which need not be the first to ask it
	ours, wait bool
}

func (d *Directory) call(e *entry, asker int, wait bool) call {
	return call{e, d.cache.asker(asker), asker == daemonItself, wait}
}

// isDeferrable reports whether a question is deferred while other questions of its asker are
// unanswered: a name that a user asks for may be invented, and no client waits for our own
// questions without wait. The remaining questions are about accounts that wait for a request or a
// start, and do not affect each other.
func (c *call) isDeferrable() bool { return c.ours && !c.wait || !c.ours && c.query.Kind == UserByName }

// expectsSilence reports whether no answer is expected: the question itself was unanswered, or
// another one about its account, or other deferrable ones of its asker.
func (d *Directory) expectsSilence(c call) bool {
	about := d.cache.get(Query{UserByID, c.query.Key})
	ofAccount := c.query.Kind == GroupsOf && about != nil && d.isUnanswered(about)
	return ofAccount || d.isUnanswered(c.entry) || c.isDeferrable() && !c.of.silent.IsZero()
}

// isUnanswered reports whether a question was unanswered, and either askAgain has not passed or no
// other question was answered since.
func (d *Directory) isUnanswered(e *entry) bool {
	return e.err != nil && (time.Since(e.failed) < askAgain || d.cache.asker(daemonItself).answered.Before(e.failed))
}

// await waits for the answer to a question. If too many questions are under way, it first waits
// until there is room, unless the question is a name that a user asks for.
func (d *Directory) await(c call) {
	end := time.Now().Add(patience)
	for c.pending == nil && (c.ours || c.query.Kind != UserByName) && time.Now().Before(end) {
		d.waitFor(d.anyDone, end)
		d.askIfDue(c)
	}
	if pending := c.pending; pending != nil {
		if d.waitFor(pending, end); c.pending == pending {
			d.fail(c, errLate)
		}
	}
}

// askIfDue asks a question. It asks an unanswered question only every askAgain, and of the deferred
// questions of an asker only one at a time, every askAgain.
func (d *Directory) askIfDue(c call) {
	resting := c.isDeferrable() && !c.of.silent.IsZero() && (c.of.asking > 0 || time.Since(c.of.asked) < askAgain)
	if time.Since(c.failed) >= askAgain && !resting {
		d.start(c)
	}
}

// start asks a question, unless it is under way or too many others are.
func (d *Directory) start(c call) {
	notUrgent := !c.ours || !c.wait
	full := d.asking >= maxAsked || notUrgent && d.notUrgent >= maxNotUrgent || !c.ours && c.of.asking >= maxAskedBy
	if c.pending != nil || full {
		return
	}
	c.pending, c.began = make(chan struct{}), time.Now()
	d.asking++
	c.of.asking++
	c.of.asked = c.began
	if notUrgent {
		d.notUrgent++
	}
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), answerTime)
		defer cancel()
		a, err := d.ask(ctx, c.query)
		d.mu.Lock()
		defer d.mu.Unlock()
		d.asking--
		c.of.asking--
		if notUrgent {
			d.notUrgent--
		}
		d.finish(c, a, err)
	}()
}

// finish stores the answer to a question, or records that there was none.
func (d *Directory) finish(c call, a Answer, err error) {
	close(c.pending)
	c.pending = nil
	close(d.anyDone)
	d.anyDone = make(chan struct{})
	if err != nil {
		d.fail(c, err)
		return
	}
	now := time.Now()
	for _, f := range []*askerState{c.of, d.cache.asker(daemonItself)} { // any answer shows that the directory answers
		f.answered, f.silent, f.err = now, time.Time{}, nil
	}
	if c.ours {
		d.lastAnswered = c.query
	}
	c.failed, c.err = time.Time{}, nil
	if c.at = now; a.Found {
		c.answer, c.found = a, now
	} else if now.Sub(c.found) > keepMissing {
		c.answer = Answer{}
	}
}

// fail records that a question is unanswered. Its asker counts as silent if none of the asker's
// questions was answered since it was asked.
func (d *Directory) fail(c call, err error) {
	c.failed, c.err = time.Now(), err
	d.failed = c.failed
	if c.ours {
		d.lastMissed = c.query
	}
	if c.of.answered.After(c.began) {
		return
	}
	if c.of.err = err; c.of.silent.IsZero() {
		c.of.silent = c.failed
	}
}
