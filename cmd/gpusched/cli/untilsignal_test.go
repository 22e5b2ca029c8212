package cli

import (
	"context"
	"syscall"
	"testing"
)

// Signals end the program itself, until the end of the context is waited for.
func TestSignalsAreCaughtOnceWaitedFor(t *testing.T) {
	ctx, a := UntilSignal(), &App{}
	if a.ForRequest(ctx) != context.Background() {
		t.Error("the context of a request catches signals")
	}
	derived, cancel := context.WithCancel(ctx)
	defer cancel()
	if a.ForRequest(ctx) != ctx {
		t.Error("a signal ends the program although it waits for one")
	}
	if err := syscall.Kill(syscall.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-derived.Done()
	if ctx.Err() != context.Canceled {
		t.Errorf("after a signal: %v", ctx.Err())
	}
}
