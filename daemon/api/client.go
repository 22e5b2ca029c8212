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

// Engine runs jobs: the daemon (*Client), or the scheduler that a user has chosen instead. Errors
// that people should read are *Error. A job is named as "12" or "7_3". An engine refuses what it
// cannot do, and says what can be done instead.
type Engine interface {
	// Submit queues a job.
	Submit(ctx context.Context, r SubmitRequest) (SubmitReply, error)
	// Do sends a route that changes something, and decodes the reply into out, which may be nil. On
	// names the job, GPU or reservation; "" for none.
	Do(ctx context.Context, r *Route, on string, body, out any) error
	// Get asks a question and decodes the reply into out: a pointer to a reply, or a *[]byte for
	// text. RouteWait is answered when the job has ended.
	Get(ctx context.Context, r *Route, on string, query, out any) error
	// Stream sends a request that is answered with lines of JSON, and yields each line as it
	// arrives. An error is the last value.
	Stream(ctx context.Context, r *Route, asked any) iter.Seq2[[]byte, error]
}

var _ Engine = (*Client)(nil)

// Client talks to the daemon. Errors are *Error, except that the error of an ended context is
// returned as it is. A Client may be used by several goroutines. The zero Client uses SocketPath.
type Client struct {
	Socket string // the path of the daemon's socket; "" means SocketPath
	Own    bool   // the socket of a user's own scheduler (gpuschedd --user)
}

// answerTime is the time after which the daemon counts as not answering. An interrupted submit or
// wait is repeated for retryTime, every retryPause.
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

// knock connects to the socket. It repeats this for up to retryTime while the socket's queue is
// full of connections that the daemon has not accepted yet (connect(2), EAGAIN): nothing has been
// sent, and a user who floods the socket must not keep others out.
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

// Submit queues a job. If r has a Key, a request that was cut off after it was sent is repeated for
// retryTime, and still queues only one job. Without a Key it is not repeated, and the caller cannot
// know whether the job was queued. If r is Brief, only the job's ID is filled in.
func (c *Client) Submit(ctx context.Context, r SubmitRequest) (out SubmitReply, err error) {
	ask := func() error { return c.call(ctx, nil, http.MethodPost, RouteSubmit.Path, r, &out) }
	var number struct { // decoding a whole job takes a noticeable part of a short command
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

// Do sends a command. A command that was cut off after it was sent is not repeated.
func (c *Client) Do(ctx context.Context, r *Route, on string, body, out any) error {
	return c.call(ctx, nil, r.Method, r.at(on, nil), body, out)
}

// Get asks a question. A wait for a job goes on over restarts of the daemon.
func (c *Client) Get(ctx context.Context, r *Route, on string, query, out any) error {
	ask := func() error { return c.call(ctx, nil, r.Method, r.at(on, query), nil, out) }
	if r == RouteWait {
		return askUntilEnded(ctx, ask)
	}
	return ask()
}
