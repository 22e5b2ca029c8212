package cli

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
)

// --watch draws until its context ends. It keeps the last screen while the scheduler does not
// answer. Any other error ends --watch. At the end it restores the terminal.
func TestWatchKeepsTheScreenWithoutAnAnswer(t *testing.T) {
	out, text := screen(80, false)
	modes := &term.Modes{W: text}
	out.W.Reset(modes)
	a := &App{Env: Env{Out: out, Err: out}}
	ctx, cancel := context.WithCancel(t.Context())
	looks := 0
	err := AgainFlags{Watch: true, Interval: time.Millisecond}.Again(ctx, a, OutputFlags{Output: "table"}, func() error {
		looks++
		switch looks {
		case 2:
			return &api.Error{Code: api.CodeUnreachable}
		case 4:
			cancel()
			return ctx.Err()
		}
		a.Out.Printf("look %d\n", looks)
		a.Note("a word")
		return nil
	})
	if err != nil || looks != 4 {
		t.Errorf("%v after %d looks", err, looks)
	}
	frames := strings.Split(text.String(), "\x1b[?2026h")[1:]
	if len(frames) != 3 {
		t.Fatalf("%d frames: %q", len(frames), frames)
	}
	for i, want := range []string{"look 1", "look 1", "look 3"} {
		away := strings.Contains(frames[i], "the scheduler has not answered since")
		if !strings.Contains(frames[i], want) || !strings.Contains(frames[i], "a word") || away != (i == 1) {
			t.Errorf("frame %d: %q", i, frames[i])
		}
	}
	if left := modes.Reset(); left != "" {
		t.Errorf("%q is left on", left)
	}
	refused := &api.Error{Code: api.CodeNotFound}
	err = AgainFlags{Watch: true}.Again(t.Context(), a, OutputFlags{Output: "wide"}, func() error { return refused })
	if err != refused || modes.Reset() != "" {
		t.Errorf("%v", err)
	}
}
