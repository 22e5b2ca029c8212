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

// Engine runs jobs. It is the daemon (*Client), or another scheduler that the user has chosen.
// Errors that people should read have the type *Error. A job's name is like "12" or "7_3". If an
// engine can't do something, it returns an error that says what to do instead.
type Engine interface {
	// Submit queues a job.
	Submit(ctx context.Context, r SubmitRequest) (SubmitReply, error)
	// Do sends a request that changes something, and decodes the reply into out, which may be nil.
	// The argument name is the name of the job, GPU or reservation, or "".
	Do(ctx context.Context, r *Route, name string, body, out any) error
	// Get asks a question and decodes the reply into out. The argument out is a pointer to a reply,
	// or a *[]byte for text. The reply to RouteWait comes when the job has ended.
	Get(ctx context.Context, r *Route, name string, query, out any) error
	// Stream sends a request that is answered with lines of JSON. It yields each line as it
	// arrives. An error is the last value.
	Stream(ctx context.Context, r *Route, asked any) iter.Seq2[[]byte, error]
}

var _ Engine = (*Client)(nil)

// Client sends requests to the daemon. Its errors have the type *Error, except for the error of a
// context that has ended. Several goroutines may use a Client. The zero Client uses SocketPath.
type Client struct {
	Socket string // path of the daemon's socket; "": SocketPath
	Own    bool   // the socket belongs to a user's own scheduler (gpuschedd --user)
}

// If no answer comes within answerTime, the daemon counts as not answering. An interrupted submit
// or wait is repeated every retryPause, for up to retryTime.
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

// knock connects to the socket. While the socket's queue is full of connections that the daemon has
// not accepted, knock tries again for up to retryTime (connect(2), EAGAIN). This is safe because
// nothing has been sent. The repetition lets clients in while another user floods the socket.
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
// up to retryTime. It still queues only one job. Without a Key, Submit does not repeat the request,
// and the caller cannot know whether the job was queued. If r is Brief, only the job's ID is filled
// in.
func (c *Client) Submit(ctx context.Context, r SubmitRequest) (out SubmitReply, err error) {
	ask := func() error { return c.call(ctx, nil, http.MethodPost, RouteSubmit.Path, r, &out) }
	var number struct { // decoding a whole job would take a noticeable part of a short command
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
		err = Repeat(ctx, ask)
	}
	if brief {
		out.Job.ID = number.Job.ID
	}
	return out, err
}

// Do sends a command. If the command is cut off after it was sent, it is not repeated.
func (c *Client) Do(ctx context.Context, r *Route, name string, body, out any) error {
	return c.call(ctx, nil, r.Method, r.pathOf(name, nil), body, out)
}

// Get asks a question. A wait for a job continues when the daemon restarts.
func (c *Client) Get(ctx context.Context, r *Route, name string, query, out any) error {
	ask := func() error { return c.call(ctx, nil, r.Method, r.pathOf(name, query), nil, out) }
	if r == RouteWait {
		return askUntilEnded(ctx, ask)
	}
	return ask()
}
