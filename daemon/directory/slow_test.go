package directory

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// runSlow runs a test with a slow form of the test directory. Questions about names that begin
// with "slow" and about uids from 80000 to 89999 get no answer, as if their server were away.
func runSlow(t *testing.T, f func(t *testing.T, d *Directory)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var w world
		f(t, New(files, func(ctx context.Context, q Query) (Answer, error) {
			if strings.HasPrefix(q.Key, "slow") || len(q.Key) == 5 && q.Key[0] == '8' {
				<-ctx.Done()
				return Answer{}, ctx.Err()
			}
			time.Sleep(10 * time.Millisecond)
			return w.ask(ctx, q)
		}))
		time.Sleep(answerTime)
	})
}

// othersGoOn checks that slow names delay nobody else. A new account gets its name and rights
// without a wait, and a name that another user asks for is looked up.
func othersGoOn(t *testing.T, d *Directory, asker int, name string) {
	t.Helper()
	waited := elapsed(func() {
		if got := d.UserName(70001); got != "dora" {
			t.Errorf("dora is called %q", got)
		}
		if gid, ok := d.GroupID("physics"); gid != 70100 || !ok {
			t.Errorf("the administrators' group is %d", gid)
		}
		if !d.Holds(70001, 70100) || !d.InGroup(70001, 70100) {
			t.Error("dora has no right by her group")
		}
		if got, err := d.NameToday(70001, "dora", patience); got != "dora" || err != nil {
			t.Errorf("a start of hers: %q, %v", got, err)
		}
		if _, ok, err := d.UserID(asker, name); ok || err != nil {
			t.Errorf("somebody else asks for an unknown name: %t, %v", ok, err)
		}
	})
	if waited >= patience {
		t.Errorf("others wait for %s", waited)
	}
	if c := d.Check(); c.Health != job.Healthy {
		t.Errorf("%+v", c)
	}
}

// Invariant 5: slow names delay no names or rights of other accounts, just after a start and later,
// however often one account or many accounts ask for the slow names.
func TestSlowNamesSilenceNobodyElse(t *testing.T) {
	for _, accounts := range []int{1, 2, 3 * maxAsked} {
		runSlow(t, func(t *testing.T, d *Directory) {
			for at := range 100 {
				for a := range accounts {
					go d.UserID(2000+a, "slow"+strconv.Itoa(at)+"-"+strconv.Itoa(a))
				}
				time.Sleep(700 * time.Millisecond)
				if at == 3 && accounts < maxNotUrgent || at == 99 && accounts < maxNotUrgent {
					othersGoOn(t, d, 1001, "none-"+strconv.Itoa(at))
				} else if at == 3 {
					othersGoOn(t, d, 1001, "")
				}
			}
		})
	}
}

// An account with a slow name sends a request, or has jobs that a list of all jobs shows. Nobody
// else waits for that name, and nobody waits for it twice.
func TestSlowAccountsSilenceNobodyElse(t *testing.T) {
	runSlow(t, func(t *testing.T, d *Directory) {
		for at := range 8 {
			uid := 80000 + at
			if waited := elapsed(func() { d.UserName(uid); d.Holds(uid, 70100); d.InGroup(uid, 2001); d.UserName(uid) }); waited != patience {
				t.Errorf("the slow account itself waits %s", waited)
			}
			for range 100 {
				d.KnownName(uid)
			}
			d.KnownGroup("slow-group")
		}
		othersGoOn(t, d, 1001, "none")
		if d.InGroup(80000, 2001) {
			t.Error("a group is left to an account of which nothing is known")
		}
	})
}

// A user who asks for slow names waits only once, and is told that no answer came.
func TestSlowNamesFailFastForTheirAsker(t *testing.T) {
	runSlow(t, func(t *testing.T, d *Directory) {
		d.UserID(1002, "slow")
		waited := elapsed(func() {
			for i := range 100 {
				if _, _, err := d.UserID(1002, "slow"+strconv.Itoa(i)); err == nil {
					t.Fatal("what was not asked counts as an account that does not exist")
				}
			}
		})
		d.mu.Lock()
		n := d.asking
		d.mu.Unlock()
		if waited > 0 || n > 1 {
			t.Errorf("they wait for %s, with %d questions", waited, n)
		}
		time.Sleep(askAgain)
		d.UserID(1002, "none")
		synctest.Wait()
		time.Sleep(time.Second)
		if _, _, err := d.UserID(1002, "none-else"); err != nil {
			t.Errorf("after an answer: %v", err)
		}
	})
}

// A user whose other names are slow may be the first to ask for a name. Other users still get the
// answer.
func TestNameFirstAskedByASlowAsker(t *testing.T) {
	runSlow(t, func(t *testing.T, d *Directory) {
		d.UserID(1002, "none")
		time.Sleep(2 * fresh)
		d.UserID(1002, "slow")
		d.UserID(1002, "slower")
		if _, ok, err := d.UserID(1003, "none"); ok || err != nil {
			t.Errorf("another account is told %t, %v", ok, err)
		}
	})
}

// Even if no requests come, health finds out whether the whole directory is silent, or only some
// names are.
func TestHealthAsksWhatWasAnsweredBefore(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world, d *Directory) {
		d.UserName(70001)
		w.hangs.Store(true)
		time.Sleep(time.Second)
		d.UserID(1002, "slow")
		if c := d.Check(); c.Health != job.Healthy || !strings.Contains(c.Detail, "got no answer") {
			t.Errorf("at first: %+v", c)
		}
		time.Sleep(answerTime + time.Second)
		if c := d.Check(); c.Health != job.Degraded {
			t.Errorf("after it asked: %+v", c)
		}
		time.Sleep(askAgain)
		w.hangs.Store(false)
		d.Check()
		synctest.Wait()
		if c := d.Check(); c.Health != job.Healthy {
			t.Errorf("once it answers: %+v", c)
		}
		time.Sleep(answerTime)
	})
}
