package directory

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Invariant 5: a user asks for many names, or for the uids of the user's containers. This evicts
// only answers in the user's own list, oldest first.
func TestFlood(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world, d *Directory) {
		d.Persons(func(uid int) (int, bool) {
			if uid >= 200000 {
				return 1002, true
			}
			return uid, true
		})
		d.UserName(70001)
		d.Holds(70001, 70100)
		d.GroupID("physics")
		for i := range 2 * maxKnown {
			d.UserID(1002, "nobody-"+strconv.Itoa(i))
		}
		for uid := range 2 * maxKnown {
			d.UserName(200000 + uid)
		}
		for _, asker := range []int{1002, containersOf(1002)} {
			if n := d.cache.asker(asker).list.Len(); n != maxKnownBy || d.cache.len() > 2*maxKnownBy+5 {
				t.Errorf("%d answers are kept for %d, %d in all", n, asker, d.cache.len())
			}
		}
		asked := w.asked.Load()
		d.UserName(200000 + 2*maxKnown - maxKnownBy)
		if w.asked.Load() != asked {
			t.Error("an answer that was used lately is forgotten")
		}
		w.hangs.Store(true)
		if name := d.UserName(70001); name != "dora" || !d.Holds(70001, 70100) {
			t.Errorf("%q is forgotten for another's questions", name)
		}
		if gid, ok := d.GroupID("physics"); gid != 70100 || !ok {
			t.Error("a group of the settings is forgotten for another's questions")
		}
	})
}

// Invariant 5: the uid range of a user's containers may include another account.
// That account is known as soon as the directory has answered.
// It stays known, whatever the user asks for and whichever uids of the range are used.
func TestAccountInTheRangeOfAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w world
		slow, slower := make(chan struct{}), make(chan struct{})
		d := New(files, func(ctx context.Context, q Query) (Answer, error) {
			switch {
			case q.Kind == UserByName:
				<-slow
			case strings.HasPrefix(q.Key, "2"):
				<-slower
			}
			return w.ask(ctx, q)
		})
		d.Persons(func(uid int) (int, bool) {
			if uid < 70000 {
				return uid, true
			}
			if named, known := d.Named(uid, 1002); !named {
				return 1002, known
			}
			return uid, true
		})
		is := func(uid int, wantNamed, wantKnown bool) {
			t.Helper()
			if named, known := d.Named(uid, 1002); named != wantNamed || known != wantKnown {
				t.Errorf("%d: an account: %t, known: %t", uid, named, known)
			}
		}
		for i := range 2 * maxAskedBy {
			go d.UserID(1002, "slow-"+strconv.Itoa(i))
			go d.UserName(200000 + i)
		}
		synctest.Wait()
		is(70001, false, false)
		time.AfterFunc(patience/2, func() { close(slower) })
		if name := d.UserName(70001); name != "dora" {
			t.Errorf("at the door it is %q", name)
		}
		is(70001, true, true)
		d.UserName(70002)
		is(70002, false, true)
		for i := range 2 * maxKnownBy {
			d.UserID(1002, "nobody-"+strconv.Itoa(i))
			d.UserName(80000 + i)
		}
		is(70001, true, true)
		is(70002, false, false) // the answer was evicted
		close(slow)
		time.Sleep(2 * fresh)
		w.hangs.Store(true)
		is(70001, true, true)
		time.Sleep(2 * fresh)
		is(70001, true, true)
		time.Sleep(2 * answerTime)
	})
}

// If there are only the host's files, everything about a uid is known, and the names in the files
// are known without a wait.
func TestAccountInARangeByTheFiles(t *testing.T) {
	d := New(files, nil)
	if named, known := d.Named(1001, 1002); !named || !known {
		t.Errorf("one of the files: %t, %t", named, known)
	}
	if named, known := d.Named(70001, 1002); named || !known {
		t.Errorf("another: %t, %t", named, known)
	}
}

// The questions of one account leave room for the questions of other accounts. An account with too
// many questions in progress gets an error.
func TestFloodOfQuestions(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world, d *Directory) {
		w.hangs.Store(true)
		var err error
		for i := range 100 {
			go d.UserID(1002, "nobody-"+strconv.Itoa(i))
		}
		synctest.Wait()
		if n := w.asked.Load(); n != maxAskedBy {
			t.Errorf("%d questions of one account at once", n)
		}
		if _, _, err = d.UserID(1002, "one-more"); err == nil {
			t.Error("what was not asked counts as an account that does not exist")
		}
		go d.UserName(70001)
		synctest.Wait()
		if n := w.asked.Load(); n != maxAskedBy+1 {
			t.Errorf("%d questions with that of another", n)
		}
		time.Sleep(2 * answerTime)
	})
}

// When the cache is full, the account with the most answers loses an answer.
func TestBusiestAskerLosesAnswers(t *testing.T) {
	s := newCache()
	ask := func(asker, n int) {
		for i := range n {
			s.entry(Query{UserByName, "n" + strconv.Itoa(asker) + "-" + strconv.Itoa(i)}, asker)
		}
	}
	ask(daemonItself, maxKnown/2)
	for asker := range maxKnown / maxKnownBy {
		ask(asker+1, maxKnownBy)
	}
	if n := s.asker(daemonItself).list.Len(); n != maxKnown/2 || s.len() != maxKnown {
		t.Errorf("%d of %d are ours", n, s.len())
	}
	ask(daemonItself, 2*maxKnown)
	if n := s.asker(daemonItself).list.Len(); n != maxKnown || s.len() != maxKnown || len(s.byAsker) != 1 {
		t.Errorf("%d of %d are ours, of %d accounts", n, s.len(), len(s.byAsker))
	}
}

// Invariant 2: while the directory does not answer, an administrator stays an administrator for a
// day, and nobody else becomes one.
func TestTrust(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world, d *Directory) {
		if !d.Holds(70001, 70100) {
			t.Fatal("dora is not in physics")
		}
		d.UserName(70001)
		w.hangs.Store(true)
		d.UserName(70003) // this call notices that the directory hangs
		<-time.After(trustGroups - time.Minute)
		if !d.Holds(70001, 70100) || d.Holds(1001, 70100) {
			t.Error("within the day what was known does not count, or what was not does")
		}
		<-time.After(2 * time.Minute)
		if d.Holds(70001, 70100) || d.InGroup(70001, 70100) {
			t.Error("a right without an answer for a day")
		}
		if name := d.UserName(70001); name != "dora" {
			t.Errorf("the name is %q", name)
		}
		w.hangs.Store(false)
		<-time.After(2 * askAgain)
		d.Check()
		<-time.After(askAgain)
		if !d.Holds(70001, 70100) {
			t.Error("no right once it answers")
		}
	})
}

// Invariant 2: while the directory is silent, a known name is answered at once,
// and any other name is reported as unknown.
func TestSilentNames(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world, d *Directory) {
		d.UserID(1001, "dora")
		d.UserID(1001, "nobody-of-us")
		w.hangs.Store(true)
		<-time.After(2 * fresh)
		if got := elapsed(func() {
			if uid, ok, err := d.UserID(1001, "dora"); uid != 70001 || !ok || err != nil {
				t.Errorf("dora: %d, %t, %v", uid, ok, err)
			}
		}); got != 0 {
			t.Errorf("what is known takes %v", got)
		}
		d.UserID(1001, "erik")
		if got := elapsed(func() {
			_, ok, err := d.UserID(1001, "erik")
			_, before, errBefore := d.UserID(1001, "nobody-of-us")
			if ok || err == nil || before || errBefore == nil {
				t.Errorf("erik: %t, %v; one who was not found before: %t, %v", ok, err, before, errBefore)
			}
		}); got != 0 {
			t.Errorf("what is not known takes %v", got)
		}
		if _, ok, err := d.UserID(1001, strings.Repeat("x", maxKey+1)); ok || err != nil {
			t.Errorf("no name: %t, %v", ok, err)
		}
		<-time.After(2 * answerTime)
	})
}
