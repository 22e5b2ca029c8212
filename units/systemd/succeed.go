package systemd

import (
	"context"
	"os"
	"strings"
	"time"
)

// askOwner is how often the bus is asked whether a connection is still there.
const askOwner = 20 * time.Millisecond

// succeed waits until the bus has seen the end of the connection that the file names, and names this one there. A
// bus passes on what it read from one connection before what it reads later from another, so systemd has all calls
// of the former before any of this one: a stop that a dead daemon sent does not reach what this one starts.
func (l *link) succeed(ctx context.Context, file string) error {
	if file == "" {
		return nil
	}
	var bus string // names of connections are unique to it
	if err := l.conn.BusObject().CallWithContext(ctx, busIface+".GetId", 0).Store(&bus); err != nil {
		return err
	}
	text, _ := os.ReadFile(file) // where it can't be read or was cut off there is none to wait for
	line, whole := strings.CutSuffix(string(text), "\n")
	if of, name, ok := strings.Cut(line, " "); whole && ok && of == bus {
		if err := l.awaitEnd(ctx, name); err != nil {
			return err
		}
	}
	_ = os.WriteFile(file, []byte(bus+" "+l.conn.Names()[0]+"\n"), 0o600) // what is there has gone
	return nil
}

// awaitEnd waits until no connection has a name.
func (l *link) awaitEnd(ctx context.Context, name string) error {
	for there := true; ; sleep(ctx, askOwner) {
		err := l.conn.BusObject().CallWithContext(ctx, busIface+".NameHasOwner", 0, name).Store(&there)
		if err != nil || !there {
			return err
		}
	}
}
