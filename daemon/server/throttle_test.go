package server

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/config"
	"github.com/gpusched/gpusched/daemon/job"
)

// limitedServer returns a server with changed limits.
func limitedServer(b Backend, change func(*config.Limits)) *Server {
	l := config.Default().Limits
	change(&l)
	s := testServer(b, nil)
	s.opt.Config = func() *config.Config { return &config.Config{Limits: l} }
	return s
}

// Invariant 4: a user who sends too many requests is throttled. Other users and root are not.
func TestAUserHasARateLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := limitedServer(queue(), func(l *config.Limits) { l.Requests, l.Burst = 10, 20 })
		took := func(p peer, n int) time.Duration {
			start := time.Now()
			for range n {
				if status, body := ask(s, p, "GET", "/v1/version", ""); status != 200 {
					t.Fatalf("%d %s", status, body)
				}
			}
			return time.Since(start)
		}
		if d := took(bob, 20); d != 0 {
			t.Errorf("a burst took %s", d)
		}
		if d := took(bob, 50); d < 4900*time.Millisecond || d > 5100*time.Millisecond {
			t.Errorf("50 requests at 10 a second took %s", d)
		}
		if d := took(alice, 20) + took(root, 1000); d != 0 {
			t.Errorf("others were held up for %s", d)
		}
		sleep(2 * time.Second)
		if d := took(bob, 20); d != 0 {
			t.Errorf("after a rest a burst took %s", d)
		}
	})
}

// All subordinate uids of a user count as the user: for the rate of requests, and for the numbers
// of connections and waits.
func TestSubordinateUIDsShareTheirOwnersLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := queue()
		s := limitedServer(b, func(l *config.Limits) { l.Requests, l.Burst, l.UserWaits = 10, 20, 3 })
		s.opt.Person = func(uid int) (int, bool) {
			if uid >= 100000 {
				return bob.uid, true
			}
			return uid, true
		}
		start := time.Now()
		for n := range 70 {
			ask(s, peer{uid: 100000 + n}, "GET", "/v1/version", "")
		}
		if d := time.Since(start); d < 4900*time.Millisecond || d > 5100*time.Millisecond {
			t.Errorf("70 requests of 70 uids took %s", d)
		}
		sleep(2 * time.Second)
		ask(s, peer{uid: 100000}, "POST", "/v1/jobs", `{"name":"n","argv":["aWQ="],"dir":"Lw==","env_mode":"clean"}`)
		ask(s, bob, "POST", "/v1/jobs", `{"name":"n","argv":["aWQ="],"dir":"Lw==","env_mode":"clean"}`)
		if subs := b.Submissions(); len(subs) != 2 || *subs[0].Principal != (job.Account{UID: bob.uid, User: "bob"}) || subs[1].Principal != nil {
			t.Errorf("whose limits the jobs count for: %+v", subs)
		}
		for n := range 3 {
			go ask(s, peer{uid: 100000 + n}, "GET", "/v1/jobs/1/wait", "")
		}
		synctest.Wait()
		if status, _ := ask(s, peer{uid: 100099}, "GET", "/v1/jobs/1/wait", ""); status != http.StatusServiceUnavailable {
			t.Errorf("one wait too many: %d", status)
		}
		sleep(defaultPoll)
	})
}

// If a delay is not enough, the server refuses the request, says when to send it again, and closes
// the connection.
func TestAFloodIsTurnedAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := limitedServer(queue(), func(l *config.Limits) { l.Requests, l.Burst = 10, 20 })
		var served, refused atomic.Int32
		var all sync.WaitGroup
		for range 100 { // the burst allows 20 at once, and maxDelay 10 more
			all.Go(func() {
				w := reply(s, bob, "GET", "/v1/version", "")
				if w.Code == http.StatusOK {
					served.Add(1)
					return
				}
				refused.Add(1)
				e := refusal(t, w.Body.String())
				if e.Code != api.CodeUnavailable || w.Header().Get(retryAfter) != "1" || w.Header().Get("Connection") != "close" ||
					!strings.Contains(e.Message, "bob may make 10 a second") {
					t.Errorf("%+v %v", e, w.Header())
				}
			})
		}
		all.Wait()
		if served.Load() != 30 || refused.Load() != 70 {
			t.Errorf("%d served, %d refused", served.Load(), refused.Load())
		}
	})
}

// A large answer counts as many small answers.
func TestAListingCountsByItsSize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := queue()
		for id := range job.ID(1000) {
			v := b.View.Jobs[1]
			v.ID = 10 + id
			b.View.Jobs = append(b.View.Jobs, v)
		}
		s := limitedServer(b, func(l *config.Limits) { l.Requests, l.Burst = 10, 40 })
		_, body := ask(s, bob, "GET", "/v1/jobs", "")
		if n := len(body) / answerUnit; n < 80 || n > 140 {
			t.Fatalf("the listing counts %d", n)
		}
		start := time.Now()
		for {
			w := reply(s, bob, "GET", "/v1/version", "")
			if w.Code == http.StatusOK {
				break
			}
			sleep(100 * time.Millisecond)
		}
		if held := time.Since(start); held == 0 || held > maxDebt*time.Second+maxDelay {
			t.Errorf("held up for %s", held)
		}
		before := s.limits.rates.byUser[bob.uid].level
		ask(s, bob, "GET", "/v1/version", "")
		if after := s.limits.rates.byUser[bob.uid].level; before-after > 1.1 {
			t.Errorf("a small answer took %f", before-after)
		}
	})
}

// cutOff is a client that leaves after it got a number of bytes.
type cutOff struct {
	*httptest.ResponseRecorder
	left int
}

func (w *cutOff) Write(b []byte) (int, error) {
	if w.left -= len(b); w.left < 0 {
		return 0, io.ErrClosedPipe
	}
	return w.ResponseRecorder.Write(b)
}

// If a client cuts a listing off, the part that was made before the cut counts.
func TestAListingThatIsCutOffCounts(t *testing.T) {
	b := queue()
	for id := range job.ID(1000) {
		v := b.View.Jobs[1]
		v.ID = 10 + id
		b.View.Jobs = append(b.View.Jobs, v)
	}
	s := limitedServer(b, func(l *config.Limits) { l.Requests, l.Burst = 10, 100 })
	r := httptest.NewRequest("GET", "/v1/jobs", nil)
	r = r.WithContext(context.WithValue(r.Context(), peerKey{}, bob))
	func() {
		defer func() {
			if v := recover(); v != http.ErrAbortHandler {
				t.Errorf("the handler ended with %v", v)
			}
		}()
		s.mux.ServeHTTP(&cutOff{httptest.NewRecorder(), 70 << 10}, r)
	}()
	if level := s.limits.rates.byUser[bob.uid].level; level > 50 || level < 20 {
		t.Errorf("of 100 requests %.0f are left after 128K", level)
	}
}

// slowBackend delays calls of Query, and counts how many calls are in progress at the same time.
type slowBackend struct {
	Backend
	now, most atomic.Int32
	free      chan struct{}
}

func (b *slowBackend) Query(ctx context.Context, q job.Query) (job.View, error) {
	n := b.now.Add(1)
	for m := b.most.Load(); n > m && !b.most.CompareAndSwap(m, n); m = b.most.Load() {
	}
	<-b.free
	b.now.Add(-1)
	return b.Backend.Query(ctx, q)
}

// Invariant 4: requests of one user wait for each other, but not for requests of other users.
func TestAUsersRequestsShareSlots(t *testing.T) {
	for path, want := range map[string]int32{"/v1/jobs": maxListings, "/v1/status": maxListings, "/v1/gpus": 5} {
		synctest.Test(t, func(t *testing.T) {
			b := &slowBackend{Backend: queue(), free: make(chan struct{})}
			s := limitedServer(b, func(l *config.Limits) { l.AtOnce = 5 })
			var all sync.WaitGroup
			for range 40 {
				all.Go(func() { ask(s, bob, "GET", path, "") })
			}
			synctest.Wait()
			if n := b.most.Load(); n != want {
				t.Errorf("%s: %d at once, want %d", path, n, want)
			}
			all.Go(func() { ask(s, alice, "GET", path, "") })
			synctest.Wait()
			if n := b.now.Load(); n != want+1 {
				t.Errorf("%s: another user's does not come through: %d", path, n)
			}
			close(b.free)
			all.Wait()
			if s.limits.requests.Keys() != 0 || s.limits.listings.Keys() != 0 {
				t.Error("turns are not given back")
			}
		})
	}
}

// slowPast delays calls of Past, and counts how many calls are in progress at the same time.
type slowPast struct {
	Backend
	now  atomic.Int32
	free chan struct{}
}

func (b *slowPast) Past(ctx context.Context, q job.PastQuery) (job.Past, error) {
	b.now.Add(1)
	<-b.free
	b.now.Add(-1)
	return b.Backend.Past(ctx, q)
}

// If no account has a name, the server searches the whole history for that name. A user who asks
// for many such names takes no slot that another user's report needs (invariant 4).
func TestUnknownNamesTakeSlots(t *testing.T) {
	for _, path := range []string{"/v1/jobs?user=nobody-of-us", "/v1/history?user=nobody-of-us"} {
		synctest.Test(t, func(t *testing.T) {
			b := &slowPast{Backend: queue(), free: make(chan struct{})}
			s := limitedServer(b, func(l *config.Limits) { l.AtOnce = 5 })
			var all sync.WaitGroup
			for range 20 {
				all.Go(func() { ask(s, bob, "GET", path, "") })
			}
			synctest.Wait()
			if n := b.now.Load(); n != maxReports {
				t.Errorf("%s: %d of one user's are searched for at once", path, n)
			}
			all.Go(func() { ask(s, alice, "GET", "/v1/history", "") })
			synctest.Wait()
			if n := b.now.Load(); n != maxReports+1 {
				t.Errorf("%s: another user's history does not come through: %d", path, n)
			}
			close(b.free)
			all.Wait()
			if s.limits.reports.Keys() != 0 || s.limits.allReports.Keys() != 0 {
				t.Error("turns are not given back")
			}
		})
	}
}

// The wait for a slot has a time limit.
func TestWaitingForASlotEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &slowBackend{Backend: queue(), free: make(chan struct{})}
		s := limitedServer(b, func(l *config.Limits) { l.AtOnce = 1 })
		go ask(s, bob, "GET", "/v1/gpus", "")
		synctest.Wait()
		w := reply(s, bob, "GET", "/v1/gpus", "")
		if e := refusal(t, w.Body.String()); e.Code != api.CodeUnavailable || w.Header().Get(retryAfter) == "" {
			t.Errorf("%d %+v", w.Code, e)
		}
		close(b.free)
	})
}

// A wait for a job takes no slot.
func TestWaitsTakeNoSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := limitedServer(queue(), func(l *config.Limits) { l.AtOnce = 2 })
		for range 20 {
			go ask(s, bob, "GET", "/v1/jobs/1/wait", "")
		}
		synctest.Wait()
		if status, body := ask(s, bob, "GET", "/v1/version", ""); status != 200 {
			t.Errorf("%d %s", status, body)
		}
		sleep(defaultPoll)
	})
}

func TestALargeSubmissionIsRefused(t *testing.T) {
	s := limitedServer(queue(), func(l *config.Limits) { l.RequestBytes = 100 })
	status, body := ask(s, bob, "POST", "/v1/jobs", `{"comment":"`+strings.Repeat("x", 200)+`"}`)
	if status != http.StatusBadRequest || !strings.Contains(body, "larger than 100 bytes") {
		t.Errorf("%d %s", status, body)
	}
}

// flood sends requests as fast as it can, on many connections, until stop is closed. It returns a
// function that waits for the end of the flood, and returns the number of answers.
func flood(stop <-chan struct{}, socket, method, path string, connections int) (asked func() int) {
	var n atomic.Int64
	var all sync.WaitGroup
	for range connections {
		all.Go(func() {
			client := overSocket(socket)
			for {
				select {
				case <-stop:
					return
				default:
				}
				r, _ := http.NewRequest(method, "http://x"+path, nil)
				if resp, err := client.Do(r); err == nil {
					io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
					n.Add(1)
				}
			}
		})
	}
	return func() int { all.Wait(); return int(n.Load()) }
}

// BenchmarkListUnderFlood measures how fast one user gets a listing of 1 000 jobs while another
// user floods the server. Each sub-benchmark has the name of the requests in the flood. Both users
// are in this process, so the work of the flood itself makes the listing slower.
func BenchmarkListUnderFlood(b *testing.B) {
	for _, c := range []struct{ name, method, path string }{
		{"none", "", ""}, {"version", "GET", "/v1/version"}, {"list", "GET", "/v1/jobs"}, {"refused", "POST", "/v1/gpus/0/pause"},
	} {
		for _, on := range []bool{true, false} {
			name := c.name + "/limits"
			if !on {
				name = c.name + "/open"
			}
			b.Run(name, func(b *testing.B) { listUnderFlood(b, c.method, c.path, on) })
		}
	}
}

func listUnderFlood(b *testing.B, method, path string, on bool) {
	back := queue()
	for id := range job.ID(1000) {
		v := back.View.Jobs[1]
		v.ID = 10 + id
		back.View.Jobs = append(back.View.Jobs, v)
	}
	s := limitedServer(back, func(l *config.Limits) {
		if !on {
			l.Requests, l.Burst, l.AtOnce = 1e6, 1e6, 1000
		}
	})
	calm, stopCalm := serveAs(b, s, alice)
	rough, stopRough := serveAs(b, s, bob)
	defer stopCalm()
	defer stopRough()
	done := make(chan struct{})
	asked := func() int { return 0 }
	if path != "" {
		asked = flood(done, rough, method, path, 100)
		time.Sleep(5 * time.Second) // until the flood's burst is over
	}
	var took []time.Duration
	start := time.Now()
	for b.Loop() {
		at := time.Now()
		get(calm, "/v1/jobs")
		took = append(took, time.Since(at))
		time.Sleep(100 * time.Millisecond)
	}
	seconds := time.Since(start).Seconds()
	close(done)
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)-1].Microseconds())/1000, "max-ms")
	b.ReportMetric(float64(asked())/(seconds+5), "flood/s")
}

// slowTrials delays dry runs, and counts how many are in progress at the same time.
type slowTrials struct {
	Backend
	now  atomic.Int32
	free chan struct{}
}

func (b *slowTrials) Submit(ctx context.Context, s job.Submission, dryRun bool) (job.Submitted, error) {
	if dryRun {
		b.now.Add(1)
		defer b.now.Add(-1)
		<-b.free
	}
	return b.Backend.Submit(ctx, s, dryRun)
}

// Invariant 4: the scheduler plans for dry runs, so they share the slots of listings and count as
// many requests. Submissions and other users do not wait for dry runs.
func TestDryRunsTakeSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const one, dry = `{"name":"x","argv":["aWQ="],"dir":"Lw=="}`, `{"name":"x","argv":["aWQ="],"dir":"Lw==","dry_run":true}`
		b := &slowTrials{Backend: queue(), free: make(chan struct{})}
		s := limitedServer(b, func(l *config.Limits) { l.Requests, l.Burst, l.AtOnce = 100, 1000, 50 })
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() { ask(s, bob, "POST", "/v1/jobs", dry) })
		}
		synctest.Wait()
		if n := b.now.Load(); n != maxListings {
			t.Errorf("%d at once, want %d", n, maxListings)
		}
		if level := s.limits.rates.byUser[bob.uid].level; level != 1000-10*dryRunCost {
			t.Errorf("of 1000 requests %.0f are left after 10 dry runs", level)
		}
		if code, text := ask(s, bob, "POST", "/v1/jobs", one); code != 200 {
			t.Errorf("a submission meanwhile: %d %s", code, text)
		}
		all.Go(func() { ask(s, alice, "POST", "/v1/jobs", dry) })
		synctest.Wait()
		if n := b.now.Load(); n != maxListings+1 {
			t.Errorf("another user's does not come through: %d", n)
		}
		close(b.free)
		all.Wait()
	})
}
