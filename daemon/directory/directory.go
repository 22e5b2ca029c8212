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
	askAgain     = 5 * time.Second // delay before an unanswered question is asked again
	fresh        = 1 * time.Minute // age at which an answer is asked for again
	maxStartAge  = 1 * time.Second // maximum age of an answer that a start uses
	keepMissing  = 1 * time.Hour   // how long an entry that the directory no longer has is still used
	trustGroups  = 24 * time.Hour  // how long a user's groups are used if no new answer comes
	maxAsked     = 16              // maximum number of questions in progress
	maxNotUrgent = 12              // maximum number of these that no client and no start waits for
	maxKnown     = 10000           // maximum number of answers that are kept
	maxAskedBy   = 4               // maximum number of questions in progress for one account
	maxKnownBy   = 200             // maximum number of answers that are kept for one account
)

// daemonItself is the asker of questions that no user can choose: about a client, or about a name
// in the settings.
const daemonItself = -1

var (
	errLate = fmt.Errorf("no answer within %s", patience)
	errBusy = errors.New("too many other questions are under way")
)

// Files looks up accounts and groups in the host's own files. Package host has such functions.
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
	ask   func(context.Context, Query) (Answer, error) // nil: there are only the files, no directory

	person func(uid int) (person int, certain bool) // owner of a container's uid; nil: each uid is a person of its own

	mu           sync.Mutex // guards the fields below
	cache        answerCache
	asking       int
	notUrgent    int           // how many of the questions in asking are not urgent
	anyDone      chan struct{} // closed and replaced each time a question ends
	failed       time.Time     // last time that a question got no answer
	lastMissed   Query         // the daemon's newest own question that got no answer
	lastAnswered Query         // the daemon's newest own question that got an answer
}

type entry struct {
	query   Query
	asker   int
	answer  Answer
	at      time.Time     // time of the last answer; zero: none yet
	found   time.Time     // last time that the directory had such an entry
	began   time.Time     // last time that the question was asked
	pending chan struct{} // closed when the question in progress ends; nil: none is in progress
	failed  time.Time     // last time that no answer came; zero: the last question was answered
	err     error         // why no answer came
}

// New returns a directory that calls ask for each question.
func New(files Files, ask func(context.Context, Query) (Answer, error)) *Directory {
	return &Directory{files: files, ask: ask, cache: newCache(), anyDone: make(chan struct{})}
}

// Persons sets the function that finds the owner of a container's uid. Questions about such a uid
// then count as questions of the owner's containers. Call Persons before asking anything.
func (d *Directory) Persons(personOf func(uid int) (person int, certain bool)) { d.person = personOf }

// asker returns the asker whose limits apply to a question about an account.
func (d *Directory) asker(uid int) int {
	if d.person != nil {
		if p, _ := d.person(uid); p != uid {
			return containersOf(p)
		}
	}
	return daemonItself
}

// containersOf returns a made-up account as the asker of questions about the uids in an owner's
// range. Questions that the owner asks then do not delay other accounts in that range.
func containersOf(owner int) int { return daemonItself - 1 - owner }

// UserName returns the name of an account, or "" if the account has no name. It may wait.
func (d *Directory) UserName(uid int) string { return d.userName(uid, true) }

// Named reports whether a uid in an owner's range belongs to an account, and whether that is known
// yet.
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
		return "" // another account in the files has this name
	}
	return name
}

// NameToday returns the present name of an account: the earlier name if the account still has it,
// or "" if there is no such account. A start relies on the name, so an answer may be at most a
// second old. The caller limits the wait. The error says why the name is unknown.
func (d *Directory) NameToday(uid int, was string, wait time.Duration) (string, error) {
	end := time.Now().Add(wait)
	if name := d.files.UserName(uid); name != "" {
		if id, known := d.files.UserID(was); name != was && known && id == uid {
			return was, nil
		}
		return name, nil
	}
	now, err := d.askToday(Query{UserByID, strconv.Itoa(uid)}, d.asker(uid), end)
	if err != nil || !now.Found || now.Name == was {
		return now.Name, err
	}
	same, err := d.askToday(Query{UserByName, was}, d.asker(uid), end)
	if same.Found && same.ID == uid {
		return was, err
	}
	if _, taken := d.files.UserID(now.Name); taken { // userName does the same
		return strconv.Itoa(uid), err
	}
	return now.Name, err
}

// askToday returns the present answer, even if an older one is known. It asks even if earlier
// questions got no answer: one slow name must not keep another account's jobs from starting.
func (d *Directory) askToday(q Query, asker int, end time.Time) (Answer, error) {
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
			d.waitFor(d.anyDone, end) // too many questions are in progress
		}
	}
	switch {
	case old():
		return Answer{}, cmp.Or(e.err, errLate)
	case !e.found.Equal(e.at): // callers that only show the answer still get the older answer
		return Answer{}, nil
	}
	return e.answer, nil
}

// waitFor waits until a channel is closed, or until the end time. It releases the lock meanwhile.
func (d *Directory) waitFor(done chan struct{}, end time.Time) {
	d.mu.Unlock()
	select {
	case <-done:
	case <-time.After(time.Until(end)):
	}
	d.mu.Lock()
}

// UserID returns the uid of the account with a name. The argument asker is the account that asks.
// UserID may wait if nothing is known about the name. The error says why it is unknown whether
// there is such an account.
func (d *Directory) UserID(asker int, name string) (uid int, found bool, err error) {
	if uid, found = d.userID(name, asker, true); found {
		return uid, true, nil
	}
	return 0, false, d.noAnswer(Query{UserByName, name}, asker)
}

// KnownID is like UserID, but does not wait.
func (d *Directory) KnownID(name string) (int, bool) { return d.userID(name, daemonItself, false) }

func (d *Directory) userID(name string, asker int, wait bool) (int, bool) {
	if uid, ok := d.files.UserID(name); ok {
		return uid, true
	}
	a := d.lookup(Query{UserByName, name}, asker, wait)
	if !a.Found || d.files.UserName(a.ID) != "" {
		return 0, false // in the files, this uid belongs to another name
	}
	return a.ID, true
}

// noAnswer returns why an asker gets no answer to a question. It returns nil if the directory has
// answered, or does not answer such questions.
func (d *Directory) noAnswer(q Query, asker int) error {
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

// Member reports whether an account is in a group now. The result known is false if the account or
// the group is unknown. If the files have the account, Member does not wait.
func (d *Directory) Member(uid, gid int) (member, known bool) {
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

// hasGroup reports whether the group with a gid has a name. The argument uid is an account that may
// have the group.
func (d *Directory) hasGroup(uid, gid int, wait bool) bool {
	return d.files.HasGroup(gid) || d.lookup(Query{GroupByID, strconv.Itoa(gid)}, d.asker(uid), wait).Found
}

// Holds reports whether an account has the rights of a group. An unknown membership gives no
// rights. If the files lack the group, Holds may wait, even if they have the account.
func (d *Directory) Holds(uid, gid int) bool {
	if in, known := d.files.Member(uid, gid); known {
		return in
	}
	return slices.Contains(d.lookup(Query{GroupsOf, strconv.Itoa(uid)}, d.asker(uid), true).Groups, gid)
}

// InGroup reports whether an account may keep a group that the kernel reported. The account may
// keep the group if it is a member, or if the directory has answered that there is no such account.
// But no account may keep a group that has no name, because systemd can't use such a group for a
// unit.
func (d *Directory) InGroup(uid, gid int) bool {
	in, known := d.member(uid, gid, true)
	return in || !known && d.hasGroup(uid, gid, true) && d.isAnswering(Query{GroupsOf, strconv.Itoa(uid)})
}

// isAnswering reports whether the directory answers a question. It returns true if nobody has asked
// the question yet.
func (d *Directory) isAnswering(q Query) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.cache.get(q)
	return e == nil || e.err == nil && !e.at.IsZero()
}
