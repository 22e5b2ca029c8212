package systemd

import (
	"context"
	"errors"
	"io/fs"
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
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if of, name, ok := strings.Cut(string(text), " "); ok && of == bus {
		if err := l.awaitEnd(ctx, name); err != nil {
			return err
		}
	}
	// Cut off, or where there is no space for it, it names no connection that is there.
	_ = os.WriteFile(file, []byte(bus+" "+l.conn.Names()[0]), 0o600)
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
