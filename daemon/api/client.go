package api

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// Client asks the daemon. Errors are *Error, except that a context that ended
// is returned as it is. A Client may be used by several goroutines; the zero
// Client asks at SocketPath.
type Client struct {
	Socket string // path of the daemon's socket; "" is SocketPath
	Own    bool   // it is that of a user's own scheduler (gpuschedd --user)

	once  sync.Once
	lines *http.Transport
}

// The times after which the daemon counts as not answering, and for which an
// interrupted submit or wait is tried again.
const (
	answerTime = 60 * time.Second
	retryTime  = 20 * time.Second
	retryPause = 250 * time.Millisecond
)

func (c *Client) socket() string {
	if c.Socket == "" {
		return SocketPath
	}
	return c.Socket
}

// transport returns what asks the daemon.
func (c *Client) transport() *http.Transport {
	c.once.Do(func() {
		c.lines = newTransport(func(ctx context.Context) (net.Conn, error) {
			return knock(ctx, func() (net.Conn, error) {
				var d net.Dialer
				return d.DialContext(ctx, "unix", c.socket())
			})
		})
	})
	return c.lines
}

// knock connects, and tries again for retryTime while the socket's queue is full of
// connections that the daemon has not taken yet: nothing has been sent, and another
// user who floods it must not turn this one away (connect(2), EAGAIN).
func knock(ctx context.Context, connect func() (net.Conn, error)) (net.Conn, error) {
	for start := time.Now(); ; {
		conn, err := connect()
		if !errors.Is(err, syscall.EAGAIN) || time.Since(start) > retryTime {
			return conn, err
		}
		if err := Pause(ctx, rand.N(retryPause)); err != nil {
			return nil, err
		}
	}
}

// Submit queues a job. With a Key a request that was cut off after it was sent
// is asked again, for retryTime, and queues one job all the same; without a Key
// it is not, and the caller cannot know whether the job was queued. The job of a
// brief answer has its number alone.
func (c *Client) Submit(ctx context.Context, r SubmitRequest) (out SubmitReply, err error) {
	ask := func() error { return c.call(ctx, http.MethodPost, "/v1/jobs", r, &out) }
	var number struct { // what is read of a brief answer: to read all of it takes a short command long
		Job struct {
			ID job.ID `json:"id"`
		} `json:"job"`
	}
	brief := r.Brief && !r.DryRun
	if brief {
		ask = func() error { return c.callBriefly(ctx, http.MethodPost, "/v1/jobs", r, &number) }
	}
	if r.Key == "" {
		err = ask()
	} else {
		err = again(ctx, ask)
	}
	if brief {
		out.Job.ID = number.Job.ID
	}
	return out, err
}

// ListQuery selects jobs; zero fields select everything live.
type ListQuery struct {
	IDs     string // such as "12,14-16,7_3": of these, live or ended; each is whole: "7_3,12" is job 12, too
	Array   job.ID // only tasks of this array that have become jobs (ended ones as far as Ended goes)
	Ended   int    // also this many ended jobs, newest first
	User    string // of this account
	UID     *int   // of this uid
	States  []job.State
	Name    string            // with exactly this name
	Like    string            // with a name that this pattern matches: * is any text, ? any character
	Tags    map[string]string // with all of these
	Since   time.Time         // if it has ended, not before then
	Reasons bool              // fill in why each waiting job waits
	Brief   bool              // of a job's reasons only the codes and what they are about, not the sentences
	Waiting int               // at most so many waiting jobs, the first in the queue; 0: all
	Names   bool              // of each job only the id and, of a task, which it is: a tenth of the work
	Recent  bool              // also say how many of the caller's jobs ended within the last hour
}

func (q ListQuery) encode() string {
	if v := q.values(); len(v) > 0 {
		return "?" + v.Encode()
	}
	return ""
}

func (q ListQuery) values() url.Values {
	v := url.Values{}
	set := func(key, value string) {
		if value != "" {
			v.Set(key, value)
		}
	}
	set("ids", q.IDs)
	set("user", q.User)
	states := make([]string, len(q.States))
	for i, st := range q.States {
		states[i] = string(st)
	}
	set("state", strings.Join(states, ","))
	set("name", q.Name)
	set("like", q.Like)
	for key, value := range q.Tags {
		v.Add("tag", key+"="+value)
	}
	if !q.Since.IsZero() {
		set("since", q.Since.UTC().Format(time.RFC3339Nano))
	}
	if q.Waiting > 0 {
		set("waiting", strconv.Itoa(q.Waiting))
	}
	if q.Array != 0 {
		set("array", q.Array.String())
	}
	if q.Ended > 0 {
		set("ended", strconv.Itoa(q.Ended))
	}
	if q.UID != nil {
		set("uid", strconv.Itoa(*q.UID))
	}
	if q.Reasons {
		set("reasons", map[bool]string{true: "brief", false: "1"}[q.Brief])
	}
	if q.Names {
		set("names", "1")
	}
	if q.Recent {
		set("recent", "1")
	}
	return v
}

// List returns the jobs that match, and the GPUs.
func (c *Client) List(ctx context.Context, q ListQuery) (out ListReply, err error) {
	return out, c.call(ctx, http.MethodGet, "/v1/jobs"+q.encode(), nil, &out)
}

// IDs returns what the jobs that match are called, a line each: their numbers, or as tasks "7_3". That is
// a tenth of the work of List.
func (c *Client) IDs(ctx context.Context, q ListQuery) (lines []byte, err error) {
	q.Names, q.Reasons, q.Recent = false, false, false
	words := q.values()
	words.Set("form", "ids")
	return lines, c.call(ctx, http.MethodGet, "/v1/jobs?"+words.Encode(), nil, &lines)
}

// Status returns the daemon at a glance.
func (c *Client) Status(ctx context.Context) (out StatusReply, err error) {
	return out, c.call(ctx, http.MethodGet, "/v1/status", nil, &out)
}

// Health returns what the daemon checked.
func (c *Client) Health(ctx context.Context) (out HealthReply, err error) {
	return out, c.call(ctx, http.MethodGet, "/v1/health", nil, &out)
}

// Metrics returns everything that is measured, in a format of package metrics.
func (c *Client) Metrics(ctx context.Context, format string) (page []byte, err error) {
	return page, c.call(ctx, http.MethodGet, "/v1/metrics?"+url.Values{"format": {format}}.Encode(), nil, &page)
}

// Version names the running daemon.
func (c *Client) Version(ctx context.Context) (out VersionReply, err error) {
	return out, c.call(ctx, http.MethodGet, "/v1/version", nil, &out)
}
