package systemd

import (
	"context"
	"os"
	"strings"
	"time"
)

// askOwner is the time between calls that ask the bus whether a connection still exists.
const askOwner = 20 * time.Millisecond

// succeed waits until the bus has seen the end of the connection that the file names, and then
// writes this connection's name to the file. A bus forwards what it has read from one connection
// before it forwards what it reads later from another. So systemd gets all calls of the former
// connection before any call of this one. A stop that a dead daemon sent therefore can't hit a unit
// that this daemon starts.
func (l *link) succeed(ctx context.Context, file string) error {
	if file == "" {
		return nil
	}
	var bus string // names of connections are unique within it
	if err := l.conn.BusObject().CallWithContext(ctx, busIface+".GetId", 0).Store(&bus); err != nil {
		return err
	}
	text, _ := os.ReadFile(file) // if the file is unreadable or incomplete, there is nothing to wait for
	line, whole := strings.CutSuffix(string(text), "\n")
	if of, name, ok := strings.Cut(line, " "); whole && ok && of == bus {
		if err := l.awaitEnd(ctx, name); err != nil {
			return err
		}
	}
	_ = os.WriteFile(file, []byte(bus+" "+l.conn.Names()[0]+"\n"), 0o600) // the connection that the file named has ended
	return nil
}

// awaitEnd waits until no connection has this name.
func (l *link) awaitEnd(ctx context.Context, name string) error {
	for there := true; ; sleep(ctx, askOwner) {
		err := l.conn.BusObject().CallWithContext(ctx, busIface+".NameHasOwner", 0, name).Store(&there)
		if err != nil || !there {
			return err
		}
	}
}
