package directory

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// files has the accounts root and alice, and the group lab with the member alice.
var files = Files{
	UserName: func(uid int) string { return map[int]string{0: "root", 1001: "alice"}[uid] },
	UserID:   func(name string) (int, bool) { return 1001, name == "alice" },
	GroupID:  func(name string) (int, bool) { return 2001, name == "lab" },
	HasGroup: func(gid int) bool { return gid == 2001 },
	Member:   func(uid, gid int) (bool, bool) { return uid == 1001, uid == 1001 && gid == 2001 },
}

// world is a directory that has the account dora, a member of the group physics.
type world struct {
	hangs, gone, fails atomic.Bool
	asked              atomic.Int64
}

func (w *world) ask(ctx context.Context, q Query) (Answer, error) {
	w.asked.Add(1)
	if w.hangs.Load() {
		<-ctx.Done()
		return Answer{}, ctx.Err()
	}
	if w.fails.Load() {
		return Answer{}, errors.New("no such socket")
	}
	if w.gone.Load() {
		return Answer{}, nil
	}
	return map[Query]Answer{
		{UserByID, "70001"}:      {Found: true, Name: "dora", ID: 70001},
		{UserByName, "dora"}:     {Found: true, Name: "dora", ID: 70001},
		{UserByName, "dori"}:     {Found: true, Name: "dora", ID: 70001}, // dora's account also has this name
		{GroupByName, "physics"}: {Found: true, Name: "physics", ID: 70100},
		{GroupByID, "70100"}:     {Found: true, Name: "physics", ID: 70100},
		{UserByID, "70007"}:      {Found: true, Name: "alice", ID: 70007}, // an account in the files has this name
		{UserByName, "allie"}:    {Found: true, Name: "allie", ID: 1001},
		{GroupByName, "labs"}:    {Found: true, Name: "labs", ID: 2001},
		{GroupByID, "70200"}:     {Found: true, Name: "chiefs", ID: 70200},
		{GroupsOf, "70001"}:      {Found: true, Groups: []int{2001, 70001, 70100}},
		{GroupsOf, "1001"}:       {Found: true, Groups: []int{1001, 2001, 70100}},
	}[q], nil
}

// inVirtualTime runs a test with a directory and a virtual clock.
func inVirtualTime(t *testing.T, f func(t *testing.T, w *world, d *Directory)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var w world
		f(t, &w, New(files, w.ask))
	})
}

// userID looks up a name for the account with uid 1001.
func userID(d *Directory, name string) (int, bool) {
	uid, ok, _ := d.UserID(1001, name)
	return uid, ok
}

// elapsed returns how long a function takes.
func elapsed(f func()) time.Duration {
	begin := time.Now()
	f()
	return time.Since(begin)
}

func TestNamesAndNumbers(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world, d *Directory) {
		if name, none := d.UserName(70001), d.UserName(70002); name != "dora" || none != "" {
			t.Errorf("%q, %q", name, none)
		}
		uid, ok := userID(d, "dora")
		gid, okGroup := d.GroupID("physics")
		if uid != 70001 || gid != 70100 || !ok || !okGroup {
			t.Errorf("uid %d, gid %d", uid, gid)
		}
		if _, ok := userID(d, "nobody-of-us"); ok {
			t.Error("somebody who does not exist is known")
		}
		name, uid := d.UserName(70007), 0
		if uid, ok = userID(d, "allie"); name != "" || ok {
			t.Errorf("%q and %d are of the files", name, uid)
		}
		if gid, ok := d.GroupID("labs"); ok {
			t.Errorf("%d is a group of the files", gid)
		}
		asked := w.asked.Load()
		if d.UserName(1001) != "alice" || d.KnownName(0) != "root" || w.asked.Load() != asked {
			t.Error("the directory was asked for somebody whom the files have")
		}
		for _, name := range []string{"", "70001", "a:b", "a\nb", "+70001", "-x", " 70001", strings.Repeat("x", maxKey+1)} {
			if _, ok := userID(d, name); ok || w.asked.Load() != asked {
				t.Errorf("the directory was asked for %q", name)
			}
		}
	})
}

// If the files have the account and the group, they answer. Otherwise the directory answers. If the
// directory also lacks the account or the group, the answer is unknown.
func TestMember(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, _ *world, d *Directory) {
		d.Member(1001, 70100) // the files have the account, so there is no wait
		synctest.Wait()
		d.Member(1001, 70100)
		synctest.Wait()
		for _, c := range []struct {
			uid, gid  int
			in, known bool
		}{
			{1001, 2001, true, true}, {1001, 70100, true, true}, {70001, 2001, true, true}, {70001, 70100, true, true},
			{70001, 99, false, false}, {70009, 2001, false, false}, {1001, 99, false, false},
		} {
			if in, known := d.Member(c.uid, c.gid); in != c.in || known != c.known {
				t.Errorf("uid %d, gid %d: %t, known %t", c.uid, c.gid, in, known)
			}
		}
		if !d.InGroup(70009, 2001) || !d.InGroup(70001, 70100) || d.InGroup(70001, 70200) {
			t.Error("a group that nobody knows, or is in, is kept, or another is")
		}
		if d.InGroup(1001, 99) || d.InGroup(70001, 99) {
			t.Error("a group that has no name is one that a unit could have")
		}
		if d.Holds(70009, 2001) || !d.Holds(70001, 70100) || !d.Holds(1001, 70100) || d.Holds(70001, 70200) {
			t.Error("what is not known gives a right, or what is known none")
		}
	})
}

// Invariants 1 and 3: the first request about an account waits for the time patience, and later
// ones do not wait. Nobody waits for an account that is in the files. Known answers stay known
// until the directory answers again.
func TestDirectoryHangs(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world, d *Directory) {
		d.UserName(70001)
		w.hangs.Store(true)
		if got := elapsed(func() { userID(d, "nobody-of-us") }); got != patience {
			t.Errorf("the first one waits %v", got)
		}
		<-time.After(2 * fresh)
		if got := elapsed(func() { d.UserName(70001); d.Holds(70001, 70100); d.UserName(70002) }); got != 2*patience {
			t.Errorf("two accounts wait %v", got)
		}
		<-time.After(answerTime)
		asked := w.asked.Load()
		if got := elapsed(func() {
			for range 1000 {
				if name := d.UserName(70001); name != "dora" {
					t.Fatalf("dora is called %q", name)
				}
				d.Holds(70001, 70100)
				userID(d, "nobody-of-us")
				userID(d, "nor-this")
				d.UserName(70002)
				d.Member(1001, 70100)
				d.UserName(1001)
			}
		}); got != 0 {
			t.Errorf("after that they wait %v", got)
		}
		if n := w.asked.Load() - asked; n > 5 {
			t.Errorf("%d questions while it hangs", n)
		}
		if c := d.Check(); c.Health != job.Degraded || !strings.Contains(c.Detail, "no answer since") || c.Next == "" {
			t.Errorf("%+v", c)
		}
		w.hangs.Store(false)
		<-time.After(2 * askAgain)
		d.Check()
		synctest.Wait()
		if c := d.Check(); c.Health != job.Healthy {
			t.Errorf("after it came back: %+v", c)
		}
	})
}

// Invariant 1: if the program gpusched-accounts is missing, nobody waits for an answer.
func TestNoProgram(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world, d *Directory) {
		w.fails.Store(true)
		if name := d.UserName(70001); name != "" || d.Check().Health != job.Degraded {
			t.Errorf("%q, %+v", name, d.Check())
		}
	})
}

// Invariant 2: an account that the directory no longer finds stays known for an hour.
func TestMissingAccountIsForgotten(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world, d *Directory) {
		d.UserName(70001)
		w.gone.Store(true)
		<-time.After(keepMissing)
		if name := d.UserName(70001); name != "dora" {
			t.Errorf("within the hour: %q", name)
		}
		<-time.After(2 * fresh)
		d.UserName(70001) // this call asks again
		synctest.Wait()
		if name := d.UserName(70001); name != "" {
			t.Errorf("after it: %q", name)
		}
	})
}

// Invariant 4: the answers and the questions in progress are bounded.
func TestBounds(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world, d *Directory) {
		for uid := range maxKnown + 100 {
			d.KnownName(100000 + uid)
		}
		if d.cache.len() > maxKnown {
			t.Errorf("%d answers are remembered", d.cache.len())
		}
		synctest.Wait()
		w.hangs.Store(true)
		asked := w.asked.Load()
		for i := range 1000 {
			d.KnownID("user-" + strconv.Itoa(i))
		}
		synctest.Wait()
		if n := w.asked.Load() - asked; n != maxNotUrgent {
			t.Errorf("%d questions at once", n)
		}
		<-time.After(answerTime)
	})
}

// Without a directory there are only the files.
func TestNoDirectory(t *testing.T) {
	d := New(files, Socket(""))
	if d.UserName(70001) != "" || d.UserName(1001) != "alice" || d.Check().Health != job.Healthy {
		t.Errorf("%+v", d.Check())
	}
}

// An answer from the socket can't make anybody root. Its names are printable.
func TestSocketAnswers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for said, want := range map[string]Answer{
		`{"found":true,"name":"dora","id":70001}`:   {Found: true, Name: "dora", ID: 70001},
		`{"found":true,"name":"dora","id":0}`:       {},
		`{"found":true,"name":"dora","id":-1}`:      {},
		`{"found":true,"name":"do\u001bra","id":7}`: {},
		`{"found":false}`:                           {},
	} {
		go answerOnce(l, said)
		got, err := Socket(path)(t.Context(), Query{UserByName, "dora"})
		if err != nil || got.Name != want.Name || got.ID != want.ID || got.Found != want.Found {
			t.Errorf("%s: %+v, %v", said, got, err)
		}
	}
	go answerOnce(l, `{"found":true,"groups":[1,2]}`)
	if got, err := Socket(path)(t.Context(), Query{GroupsOf, "7"}); err != nil || !slices.Equal(got.Groups, []int{1, 2}) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, said := range []string{"", "nonsense", `{"error":"the server is away"}`} {
		go answerOnce(l, said)
		if got, err := Socket(path)(t.Context(), Query{UserByName, "dora"}); err == nil {
			t.Errorf("%q: %+v", said, got)
		}
	}
}

func answerOnce(l net.Listener, said string) {
	c, err := l.Accept()
	if err != nil {
		return
	}
	defer c.Close()
	_, _ = c.Read(make([]byte, maxKey))
	_, _ = c.Write([]byte(said))
}

// A start asks again which account has a uid. An old answer is not enough, and without an answer
// nothing starts. If the recorded name is still one of the account's names, it is kept.
func TestStartAsksForTheNameAgain(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world, d *Directory) {
		today := func(uid int, was string) string {
			name, err := d.NameToday(uid, was, patience)
			if err != nil {
				return "?"
			}
			return name
		}
		for _, c := range []struct {
			uid       int
			was, want string
		}{
			{1001, "alice", "alice"}, {1001, "kate", "alice"}, {70001, "dora", "dora"}, {70001, "kate", "dora"}, {70001, "dori", "dori"}, {70009, "kate", ""},
		} {
			if got := today(c.uid, c.was); got != c.want {
				t.Errorf("%d, which was %s's, is %q's today, want %q", c.uid, c.was, got, c.want)
			}
		}
		if got := today(70007, "kate"); got != "70007" {
			t.Errorf("an account that has a name of the files is %q", got)
		}
		w.gone.Store(true)
		time.Sleep(maxStartAge)
		if got := today(70001, "dora"); got != "" || d.KnownName(70001) != "dora" {
			t.Errorf("an account that is gone is %q, and shown as %q", got, d.KnownName(70001))
		}
		w.gone.Store(false)
		w.hangs.Store(true)
		time.Sleep(maxStartAge)
		for range 2 {
			if waited := elapsed(func() { w.is(t, today(70001, "dora"), "?") }); waited > patience {
				t.Errorf("a directory that hangs held a start up for %s", waited)
			}
		}
		w.is(t, today(1001, "alice"), "alice")
		time.Sleep(answerTime) // after this time no question is in progress
	})
}

// If the name of one account is slow, the starts of no other account are delayed.
func TestSlowNameDelaysOnlyItsOwnStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := New(files, func(ctx context.Context, q Query) (Answer, error) {
			if q.Key == "70002" {
				<-ctx.Done()
				return Answer{}, ctx.Err()
			}
			return Answer{Found: true, Name: "dora", ID: 70001}, nil
		})
		for range 3 {
			d.UserName(70002)
			if d.isAnswering(Query{UserByID, "70002"}) {
				t.Error("the slow one is answered")
			}
			if waited := elapsed(func() { _, _ = d.NameToday(70002, "slow", patience) }); waited > patience {
				t.Errorf("its own start waited for %s", waited)
			}
			waited := elapsed(func() {
				if name, err := d.NameToday(70001, "dora", patience); name != "dora" || err != nil {
					t.Errorf("the other's start: %q, %v", name, err)
				}
			})
			if waited > 0 {
				t.Errorf("the other's start waited for %s", waited)
			}
			time.Sleep(answerTime)
		}
	})
}

// A name gives rights, and its uid may now belong to another account. So before an old answer is
// used, the directory is asked again which account has the uid.
func TestNumberGivenToAnotherAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		name := "kate"
		d := New(files, func(context.Context, Query) (Answer, error) {
			time.Sleep(10 * time.Millisecond)
			return Answer{Found: true, Name: name, ID: 70001}, nil
		})
		if got := d.UserName(70001); got != "kate" {
			t.Errorf("it is %q", got)
		}
		name = "liam"
		time.Sleep(fresh)
		if got := d.UserName(70001); got != "liam" {
			t.Errorf("whoever has the number is taken for %q", got)
		}
	})
}

// If more jobs start at the same time than questions are allowed, the starts wait for their turn,
// and none fails.
func TestStartsWaitForTheirTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := New(files, func(_ context.Context, q Query) (Answer, error) {
			time.Sleep(10 * time.Millisecond)
			return Answer{Found: true, Name: "user-" + q.Key}, nil
		})
		for i := range 4 * maxAsked {
			uid := 80000 + i
			go func() {
				want := "user-" + strconv.Itoa(uid)
				if name, err := d.NameToday(uid, want, patience); name != want || err != nil {
					t.Errorf("%d is %q's today: %v", uid, name, err)
				}
			}()
		}
		time.Sleep(patience)
		synctest.Wait()
	})
}

func (*world) is(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
