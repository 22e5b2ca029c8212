package main

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gpusched/gpusched/daemon/api"
)

// A patientTransport delays the end of its input until all requests are answered. 'printf REQUESTS
// | gpusched mcp' therefore prints the answers.
type patientTransport struct{ mcp.Transport }

func (t patientTransport) Connect(ctx context.Context) (mcp.Connection, error) {
	conn, err := t.Transport.Connect(ctx)
	return &patientConn{Connection: conn, owed: map[jsonrpc.ID]bool{}}, err
}

// A patientConn tracks the unanswered requests. The SDK does not answer a request that reuses the
// number of an unanswered request.
type patientConn struct {
	mcp.Connection
	mu   sync.Mutex
	owed map[jsonrpc.ID]bool
}

// At the end of the input, the connection waits up to answerTime for the answers. Once per
// answerPoll it checks whether all requests are answered.
const (
	answerTime = time.Minute
	answerPoll = 5 * time.Millisecond
)

func (c *patientConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	message, err := c.Connection.Read(ctx)
	if request, ok := message.(*jsonrpc.Request); ok && request.IsCall() {
		c.mu.Lock()
		c.owed[request.ID] = true
		c.mu.Unlock()
	}
	if errors.Is(err, io.EOF) {
		ctx, cancel := context.WithTimeout(ctx, answerTime)
		defer cancel()
		for c.owes() && api.Pause(ctx, answerPoll) == nil {
		}
	}
	return message, err
}

func (c *patientConn) Write(ctx context.Context, message jsonrpc.Message) error {
	err := c.Connection.Write(ctx, message)
	if response, ok := message.(*jsonrpc.Response); ok {
		c.mu.Lock()
		delete(c.owed, response.ID)
		c.mu.Unlock()
	}
	return err
}

func (c *patientConn) owes() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.owed) > 0
}
