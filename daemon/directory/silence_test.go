package directory

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// TestDeadDomain: invariant 5. What an account asks for in vain is known to have no answer, is waited
// for once, and is nobody else's concern.
func TestDeadDomain(t *testing.T) {
	lives(t, func(t *testing.T, w *world, d *Directory) {
		d.UserName(70001)
		<-time.After(2 * fresh)
		for i := range 10 {
			name := "dead-" + strconv.Itoa(i)
			var err error
			if got := took(func() { _, _, err = d.UserID(1002, name) }); got != patience || err == nil {
				t.Fatalf("%s: %v after %v", name, err, got)
			}
			if got := took(func() { _, _, err = d.UserID(1002, name) }); got != 0 || err == nil {
				t.Fatalf("%s once more: %v after %v", name, err, got)
			}
			for range 6 {
				if c := d.Check(); c.Health != job.Healthy {
					t.Fatalf("after %s: %+v", name, c)
				}
				<-time.After(time.Second)
			}
			uid, ok, err := d.UserID(1001, "dora")
			if gid, okGroup := d.GroupID("physics"); uid != 70001 || gid != 70100 || !ok || !okGroup || err != nil {
				t.Fatalf("after %s: uid %d, gid %d, %v", name, uid, gid, err)
			}
		}
	})
}

// A question of ours that has no answer is that question's alone where another has one.
func TestDeadDomainOfOurs(t *testing.T) {
	lives(t, func(t *testing.T, w *world, d *Directory) {
		d.UserName(70001)
		<-time.After(time.Second)
		if gid, ok := d.GroupID("dead-group"); ok {
			t.Errorf("gid %d", gid)
		}
		synctest.Wait()
		if c := d.Check(); c.Health != job.Healthy {
			t.Errorf("%+v", c)
		}
		if uid, ok := userID(d, "dora"); uid != 70001 || !ok {
			t.Errorf("uid %d", uid)
		}
		if got := took(func() { d.GroupID("dead-group") }); got != 0 {
			t.Errorf("it is waited for again: %v", got)
		}
		if d.InGroup(66001, 2001) || d.InGroup(66001, 2001) {
			t.Error("a group that there was no answer about is kept")
		}
	})
}

// TestSilenceIsNoticed: the daemon sees for itself whether the directory answers when an account's
// question has no answer.
func TestSilenceIsNoticed(t *testing.T) {
	lives(t, func(t *testing.T, w *world, d *Directory) {
		d.UserName(70001)
		w.hangs.Store(true)
		<-time.After(2 * fresh)
		d.UserID(1002, "erik")
		<-time.After(answerTime + time.Second)
		if c := d.Check(); c.Health != job.Degraded {
			t.Errorf("%+v", c)
		}
		if got := took(func() { d.UserID(1001, "frida") }); got != 0 {
			t.Errorf("the next one waits %v", got)
		}
	})
}

// TestPolling: invariants 3 and 5. While the directory is silent nobody chooses what it is asked, so
// whoever asks all the time for what has no answer does not keep it silent.
func TestPolling(t *testing.T) {
	lives(t, func(t *testing.T, w *world, d *Directory) {
		d.UserName(70001)
		w.hangs.Store(true)
		d.UserName(66001)
		<-time.After(2 * answerTime)
		asked := w.asked.Load()
		poll := func(n int) {
			for range n {
				d.UserID(1002, "dead-1")
				d.UserID(1003, "dead-2")
				d.UserName(66001)
				<-time.After(time.Second)
			}
		}
		poll(60)
		if n := w.asked.Load() - asked; n < 6 || n > 13 {
			t.Errorf("%d questions in a minute", n)
		}
		w.hangs.Store(false)
		dead := w.askedDead.Load()
		poll(3 * int(askAgain/time.Second))
		if n := w.askedDead.Load() - dead; d.Check().Health != job.Healthy || n == 0 {
			t.Errorf("%+v after %d questions in vain", d.Check(), n)
		}
		if gid, ok := d.GroupID("physics"); gid != 70100 || !ok {
			t.Errorf("gid %d", gid)
		}
	})
}
