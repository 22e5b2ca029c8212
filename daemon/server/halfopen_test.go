package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/config"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/server/servertest"
)

// TestHalfOpenClients runs hostile clients, which stop in the middle of requests and answers,
// together with honest clients. Meanwhile the daemon restarts, and at times its backend is slow or
// unavailable. Each honest request is answered, and each acknowledged job exists once. No user has
// more connections than the site allows, and a silent client loses its place. A server that has
// stopped leaves nothing. A random seed decides what happens. The test is not in daemon/dst,
// which runs everything in one goroutine, because net/http has goroutines of its own.
func TestHalfOpenClients(t *testing.T) {
	for seed := range uint64(30) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { newCrowd(t, seed).run() })
		})
	}
}

// crowd is a machine with many clients.
type crowd struct {
	t       *testing.T
	limits  config.Limits
	backend *faultyBackend
	over    chan struct{} // closed when the honest clients are done

	mu     sync.Mutex // guards the fields below
	dice   *rand.Rand
	door   *door // listener of the present server; nil: there is no server
	acked  map[string]job.ID
	refuse int // number of refused connections that clients saw
}

func newCrowd(t *testing.T, seed uint64) *crowd {
	limits := config.Default().Limits
	limits.Connections, limits.UserConns, limits.UserWaits = 12, 4, 2
	c := &crowd{t: t, limits: limits, over: make(chan struct{}), dice: rand.New(rand.NewPCG(seed, 0)), acked: map[string]job.ID{}}
	c.backend = &faultyBackend{Backend: &servertest.Backend{Now: noon}, c: c}
	return c
}

// randomInt returns a random number below a limit, and randomDuration a random duration.
func (c *crowd) randomInt(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dice.IntN(n)
}

func (c *crowd) randomDuration(d time.Duration) time.Duration {
	return time.Duration(c.randomInt(int(d)))
}

// run runs all clients. Only two users are hostile, because more would take all places.
func (c *crowd) run() {
	last := make(chan *life)
	go c.restart(last)
	go c.backend.run()
	var honest, hostile sync.WaitGroup
	for _, p := range []peer{root, alice, alice, bob} {
		honest.Go(func() { c.runHonest(p, 6) })
	}
	for _, uid := range []int{2001, 2002} {
		for range 6 {
			hostile.Go(func() { c.runHostile(peer{uid: uid, gid: uid}) })
		}
	}
	honest.Wait()
	close(c.over)
	hostile.Wait()
	l := <-last
	sleep(headerTime + bodyTime + defaultPoll + replyTime + idleTime)
	if n := l.limits.conns.count(); n != 0 {
		c.t.Errorf("%d connections have a place that say nothing more", n)
	}
	c.end(l)
	c.judge()
}

// judge checks that each acknowledged job exists once.
func (c *crowd) judge() {
	by := map[string]job.ID{}
	for _, v := range c.backend.View.Jobs {
		if other, twice := by[v.Key]; twice {
			c.t.Errorf("jobs %d and %d come from one request", other, v.ID)
		}
		by[v.Key] = v.ID
	}
	for key, id := range c.acked {
		if by[key] != id {
			c.t.Errorf("job %d was acknowledged, and its request made job %d", id, by[key])
		}
	}
	if len(c.acked) != 4*6 || c.refuse == 0 {
		c.t.Errorf("%d jobs were acknowledged, and %d connections were refused", len(c.acked), c.refuse)
	}
}

// A life is one server, from its start to its stop.
type life struct {
	*Server
	door *door
	stop context.CancelFunc
	done chan error
}

// restart runs one server after another. Once the honest clients are done, it sends the present
// server to the channel.
func (c *crowd) restart(lives chan<- *life) {
	for {
		l := c.begin()
		select {
		case <-time.After(5*time.Second + c.randomDuration(time.Minute)):
			c.end(l)
			sleep(c.randomDuration(5 * time.Second))
		case <-c.over:
			lives <- l
			return
		}
	}
}

func (c *crowd) begin() *life {
	l := &life{Server: testServer(c.backend, nil), door: newDoor(c), done: make(chan error, 1)}
	l.opt.Config = func() *config.Config { return &config.Config{Limits: c.limits} }
	l.peerOf = func(c net.Conn) (peer, error) { return c.(*wire).peer, nil }
	ctx, stop := context.WithCancel(context.Background())
	l.stop = stop
	go func() { l.done <- l.Serve(ctx, l.door) }()
	c.mu.Lock()
	c.door = l.door
	c.mu.Unlock()
	return l
}

// end stops a server and checks that nothing is left of it.
func (c *crowd) end(l *life) {
	c.mu.Lock()
	c.door = nil
	c.mu.Unlock()
	asked := time.Now()
	l.stop()
	if err := <-l.done; err != nil || time.Since(asked) > drainTime+time.Second {
		c.t.Errorf("the server stops after %s: %v", time.Since(asked), err)
	}
	if n := l.door.count(); n != 0 {
		c.t.Errorf("a server that has stopped leaves %d connections open", n)
	}
	sleep(2*longestDelay + time.Second) // once a client has sent its next request, net/http may not notice that it leaves
	if l.limits.conns.count() != 0 || l.limits.waits.count() != 0 || l.limits.requests.Keys() != 0 {
		c.t.Errorf("of a server that has stopped %d places, %d waits and turns of %d users are taken",
			l.limits.conns.count(), l.limits.waits.count(), l.limits.requests.Keys())
	}
}

// A door is the listener of one server. It counts open connections.
type door struct {
	c     *crowd
	conns chan *wire
	done  chan struct{}
	shut  func()

	mu   sync.Mutex // guards open
	open map[int]int
}

func newDoor(c *crowd) *door {
	d := &door{c: c, conns: make(chan *wire), done: make(chan struct{}), open: map[int]int{}}
	d.shut = sync.OnceFunc(func() { close(d.done) })
	return d
}

// Accept checks the limits of invariant 4. One connection above the limit may be open, if the
// server is about to refuse it.
func (d *door) Accept() (net.Conn, error) {
	select {
	case <-d.done:
		return nil, net.ErrClosed
	case w := <-d.conns:
		d.mu.Lock()
		defer d.mu.Unlock()
		d.open[w.peer.uid]++
		if n := d.open[w.peer.uid]; n > d.c.limits.UserConns+1 {
			d.c.t.Errorf("user %d has %d connections", w.peer.uid, n)
		}
		return w, nil
	}
}

func (d *door) Close() error   { d.shut(); return nil }
func (d *door) Addr() net.Addr { return &net.UnixAddr{Name: "door"} }

func (d *door) count() (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, open := range d.open {
		n += open
	}
	return n
}

// wire is the server's end of a connection.
type wire struct {
	net.Conn
	peer  peer
	close func() error
}

func (w *wire) Close() error { return w.close() }

var errNobody = errors.New("nobody listens")

// dial connects a user to the present server.
func (c *crowd) dial(p peer) (net.Conn, error) {
	c.mu.Lock()
	d := c.door
	c.mu.Unlock()
	if d == nil {
		return nil, errNobody
	}
	mine, other := net.Pipe()
	w := &wire{Conn: other, peer: p}
	w.close = sync.OnceValue(func() error {
		err := other.Close()
		d.mu.Lock()
		defer d.mu.Unlock()
		d.open[p.uid]--
		return err
	})
	select {
	case d.conns <- w:
		return mine, nil
	case <-d.done:
		return nil, errNobody
	}
}

// faultyBackend is a backend that outlasts the servers. At times it is slow or unavailable.
type faultyBackend struct {
	*servertest.Backend
	c    *crowd
	mood atomic.Int32
}

const (
	well = iota
	sluggish
	unavailable
)

func (f *faultyBackend) run() {
	for {
		select {
		case <-time.After(f.c.randomDuration(20 * time.Second)):
		case <-f.c.over:
			f.mood.Store(well)
			return
		}
		f.mood.Store([]int32{well, sluggish, unavailable}[f.c.randomInt(3)])
	}
}

// longestDelay is the longest delay of a faultyBackend.
const longestDelay = 10 * time.Second

// trouble runs before and after each call. At times it delays the call or returns an error.
func (f *faultyBackend) trouble(ctx context.Context) error {
	switch f.mood.Load() {
	case sluggish:
		return api.Pause(ctx, f.c.randomDuration(longestDelay))
	case unavailable:
		return job.Refuse("unavailable/unwritable", "the disk is full")
	}
	return ctx.Err()
}

func (f *faultyBackend) Submit(ctx context.Context, s job.Submission, dryRun bool) (job.Submitted, error) {
	if err := f.trouble(ctx); err != nil {
		return job.Submitted{}, err
	}
	out, err := f.Backend.Submit(ctx, s, dryRun)
	return out, errors.Join(err, f.trouble(ctx))
}

func (f *faultyBackend) Query(ctx context.Context, q job.Query) (job.View, error) {
	if err := f.trouble(ctx); err != nil {
		return job.View{}, err
	}
	return f.Backend.Query(ctx, q)
}

func (f *faultyBackend) Wait(ctx context.Context, id job.ID) (job.JobView, error) {
	if err := f.trouble(ctx); err != nil {
		return job.JobView{}, err
	}
	return f.Backend.Wait(ctx, id)
}

// runHonest submits jobs and waits for their ends. Like the client in package api, it repeats a
// request until it gets an answer.
func (c *crowd) runHonest(p peer, jobs int) {
	transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return c.dial(p) }}
	defer transport.CloseIdleConnections()
	who := fmt.Sprintf("%d-%d", p.uid, c.randomInt(1<<30))
	for n := range jobs {
		key := fmt.Sprintf("%s-%d", who, n)
		var out api.JobReply
		c.retry(transport, "POST", "/v1/jobs", submitBody(key), &out)
		id := job.ID(out.Job.ID)
		c.mu.Lock()
		c.acked[key] = id
		c.mu.Unlock()
		time.AfterFunc(c.randomDuration(30*time.Second), func() { c.backend.End(id, job.Result{Outcome: job.Completed}) })
		c.retry(transport, "GET", fmt.Sprintf("/v1/jobs/%d/wait?timeout_seconds=20", id), "", &out)
		if out.Job.State != job.Completed {
			c.t.Errorf("job %d is awaited and %s", id, out.Job.State)
		}
		c.retry(transport, "GET", "/v1/jobs", "", &api.ListReply{})
		sleep(c.randomDuration(5 * time.Second))
	}
}

func submitBody(key string) string {
	body, _ := json.Marshal(api.SubmitRequest{Key: key, Label: job.Label{Name: "j"}, Program: api.Program{Argv: api.Words{"true"}, EnvMode: "clean", Dir: "/"}})
	return string(body)
}

// patientTime is the time limit of an honest request, which may meet several restarts and delays.
const patientTime = 4 * time.Minute

// retry repeats a request until it gets an answer.
func (c *crowd) retry(over http.RoundTripper, method, path, body string, out any) {
	for began := time.Now(); time.Since(began) < patientTime; sleep(time.Second) {
		r, _ := http.NewRequest(method, "http://x"+path, strings.NewReader(body))
		resp, err := over.RoundTrip(r)
		if err != nil {
			continue
		}
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		switch {
		case err != nil || resp.StatusCode == http.StatusServiceUnavailable || resp.StatusCode == http.StatusRequestTimeout:
		case resp.StatusCode != http.StatusOK:
			c.t.Errorf("%s %s: %d %s", method, path, resp.StatusCode, text)
			return
		default:
			if err := json.Unmarshal(text, out); err != nil {
				c.t.Errorf("%s %s: %v in %s", method, path, err, text)
			}
			return
		}
	}
	c.t.Errorf("%s %s has no answer after %s", method, path, patientTime)
}

// completeRequest is a complete request.
const completeRequest = "GET /v1/jobs HTTP/1.1\r\nHost: x\r\n\r\n"

// halves are the beginnings of requests that hostile clients send.
var halves = []string{
	"", "GET /v1/jobs HT", "GET /v1/jobs HTTP/1.1\r\nHost: x\r\nX-", "POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 900\r\n\r\n{\"key\":",
	completeRequest, completeRequest + completeRequest, completeRequest + "GET", "GET /v1/jobs/1/wait?timeout_seconds=600 HTTP/1.1\r\nHost: x\r\n\r\n", "GET /v1/jobs/1/wait HTTP/1.1\r\nHost: x\r\n\r\n",
}

// runHostile opens connections as fast as it can, and completes nothing on them.
func (c *crowd) runHostile(p peer) {
	for {
		select {
		case <-c.over:
			return
		case <-time.After(c.randomDuration(2 * time.Second)):
		}
		conn, err := c.dial(p)
		if err != nil {
			continue
		}
		_, err = io.WriteString(conn, halves[c.randomInt(len(halves))])
		if err != nil { // the connection was refused or cut off
			c.mu.Lock()
			c.refuse++
			c.mu.Unlock()
			conn.Close()
			continue
		}
		c.hangUp(conn)
	}
}

// hangUp ends a hostile client in one of several ways. It closes the connection immediately, closes
// it during a wait, sends byte by byte, reads a little and then stops, or stays silent.
func (c *crowd) hangUp(conn net.Conn) {
	switch c.randomInt(5) {
	case 0:
		conn.Close()
	case 1:
		sleep(c.randomDuration(30 * time.Second))
		conn.Close()
	case 2:
		for err := error(nil); err == nil; sleep(4 * time.Second) {
			_, err = io.WriteString(conn, "x")
		}
	case 3:
		_, _ = io.Copy(io.Discard, conn)
	}
}
