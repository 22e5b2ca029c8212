package api

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"net"
	"net/http"
	"syscall"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// Engine runs jobs: the daemon (*Client), or what a user has chosen in its place. Errors that are for people are
// *Error, a job is named as "12" or "7_3", and what an engine cannot do it refuses, saying what can be done instead.
type Engine interface {
	// Submit queues a job.
	Submit(ctx context.Context, r SubmitRequest) (SubmitReply, error)
	// Do carries out what a route that changes something is for, and reads the answer into out, which may be nil.
	// On is the job, the GPU or the reservation that it is about, "" where there is none.
	Do(ctx context.Context, r *Route, on string, body, out any) error
	// Get reads the answer to a question into out: of a reply a pointer to one, of text a *[]byte. RouteWait is
	// answered when the job has ended.
	Get(ctx context.Context, r *Route, on string, query, out any) error
	// Stream asks a question, or has something done, that is answered with lines of JSON, and yields these as they
	// come; an error is the last.
	Stream(ctx context.Context, r *Route, asked any) iter.Seq2[[]byte, error]
}

var _ Engine = (*Client)(nil)

// Client asks the daemon. Errors are *Error, except that a context that ended
// is returned as it is. A Client may be used by several goroutines; the zero
// Client asks at SocketPath.
type Client struct {
	Socket string // path of the daemon's socket; "" is SocketPath
	Own    bool   // it is that of a user's own scheduler (gpuschedd --user)
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
	ask := func() error { return c.call(ctx, nil, http.MethodPost, RouteSubmit.Path, r, &out) }
	var number struct { // what is read of a brief answer: to read all of it takes a short command long
		Job struct {
			ID job.ID `json:"id"`
		} `json:"job"`
	}
	brief := r.Brief && !r.DryRun
	if brief {
		header := http.Header{PreferHeader: {PreferBrief}}
		ask = func() error { return c.call(ctx, header, http.MethodPost, RouteSubmit.Path, r, &number) }
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

// Do carries out a command. One that was cut off after it was sent is not asked again.
func (c *Client) Do(ctx context.Context, r *Route, on string, body, out any) error {
	return c.call(ctx, nil, r.Method, r.at(on, nil), body, out)
}

// Get asks a question. That a job has ended is waited for over restarts of the daemon.
func (c *Client) Get(ctx context.Context, r *Route, on string, query, out any) error {
	ask := func() error { return c.call(ctx, nil, r.Method, r.at(on, query), nil, out) }
	if r == RouteWait {
		return askUntilEnded(ctx, ask)
	}
	return ask()
}
