package cli

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
)

// untilSignal is a context that SIGINT and SIGTERM end. It catches these signals from the first
// time on that its end is waited for. Before that they end the program, which has nothing to clean
// up yet. Go catches signals in threads of their own, which take a tenth of a short command's time.
type untilSignal struct {
	context.Context
	catch   func() context.Context
	catches atomic.Bool
}

// UntilSignal returns a context that SIGINT and SIGTERM end.
func UntilSignal() context.Context {
	c := &untilSignal{Context: context.Background()}
	c.catch = sync.OnceValue(func() context.Context {
		c.catches.Store(true)
		ctx, _ := signal.NotifyContext(c.Context, os.Interrupt, syscall.SIGTERM)
		return ctx
	})
	return c
}

func (c *untilSignal) Done() <-chan struct{} { return c.catch().Done() }
func (c *untilSignal) Err() error            { return c.catch().Err() }

// ForRequest returns the context for a request to the daemon that a signal may cut off. If nothing
// has been begun that a signal must not cut off, the signal ends the program.
func (a *App) ForRequest(ctx context.Context) context.Context {
	if c, is := ctx.(*untilSignal); is && !c.catches.Load() && a.Other() == nil {
		return c.Context
	}
	return ctx
}
