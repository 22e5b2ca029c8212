package systemd

import (
	"errors"
	"fmt"
	"net"

	"github.com/coreos/go-systemd/v22/activation"
)

// ErrNotActivated means that the service manager passed no socket.
var ErrNotActivated = errors.New("no socket was passed by systemd")

// Listeners takes over the sockets that systemd opened for us. It may be called only once. Children
// do not inherit the sockets. When a listener is closed, the socket's file stays, and connections
// wait in its backlog until the next start.
func Listeners() ([]net.Listener, error) {
	files := activation.Files(true)
	if len(files) == 0 {
		return nil, ErrNotActivated
	}
	var all []net.Listener
	var errs []error
	for _, f := range files {
		l, err := net.FileListener(f)
		if err != nil {
			errs = append(errs, fmt.Errorf("socket %q: %w", f.Name(), err))
		} else {
			all = append(all, l)
		}
		f.Close()
	}
	if err := errors.Join(errs...); err != nil {
		for _, l := range all {
			l.Close()
		}
		return nil, err
	}
	return all, nil
}
