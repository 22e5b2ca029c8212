package getent

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"time"

	"github.com/gpusched/gpusched/daemon/directory"
)

const (
	maxAtOnce   = 16
	maxQuestion = 4 << 10
)

// Serve answers one question on each connection, until the listener is closed.
func Serve(ctx context.Context, l net.Listener, r Resolver) error {
	atOnce := make(chan struct{}, maxAtOnce)
	for {
		c, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return err
		}
		atOnce <- struct{}{}
		go func() {
			defer func() { <-atOnce }()
			defer c.Close()
			serve(ctx, c, r)
		}()
	}
}

// serve answers the question on one connection. It ignores errors of the connection, because nobody
// waits for the answer then.
func serve(ctx context.Context, c net.Conn, r Resolver) {
	var q directory.Query
	if c.SetDeadline(time.Now().Add(2*limit)) != nil || json.NewDecoder(io.LimitReader(c, maxQuestion)).Decode(&q) != nil {
		return
	}
	_ = json.NewEncoder(c).Encode(r.Answer(ctx, q))
}
