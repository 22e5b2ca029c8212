package main

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gpusched/gpusched/daemon/api"
)

// answering is a transport whose input ends only once what came from it is answered, so that
// 'printf REQUESTS | gpusched mcp' prints the answers.
type answering struct{ mcp.Transport }

func (t answering) Connect(ctx context.Context) (mcp.Connection, error) {
	conn, err := t.Transport.Connect(ctx)
	return &owing{Connection: conn}, err
}

// owing is a connection that counts the requests that have no answer yet.
type owing struct {
	mcp.Connection
	owed atomic.Int64
}

// How long the end of the input waits for answers, at most and between two looks.
const (
	answerTime = time.Minute
	answerPoll = 5 * time.Millisecond
)

func (c *owing) Read(ctx context.Context) (jsonrpc.Message, error) {
	message, err := c.Connection.Read(ctx)
	if request, ok := message.(*jsonrpc.Request); ok && request.IsCall() {
		c.owed.Add(1)
	}
	if errors.Is(err, io.EOF) {
		ctx, cancel := context.WithTimeout(ctx, answerTime)
		defer cancel()
		for c.owed.Load() > 0 && api.Pause(ctx, answerPoll) == nil {
		}
	}
	return message, err
}

func (c *owing) Write(ctx context.Context, message jsonrpc.Message) error {
	err := c.Connection.Write(ctx, message)
	if _, ok := message.(*jsonrpc.Response); ok {
		c.owed.Add(-1)
	}
	return err
}
