package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/net/netutil"

	"github.com/gpusched/gpusched/cmd/loopback"
	"github.com/gpusched/gpusched/daemon/api"
)

func main() { os.Exit(run(os.Args[1:], os.Getenv, os.Stderr)) }

// Limits of invariant 5.
const (
	maxConns   = 128
	maxStreams = 64
	maxWaiting = 32
	headerTime = 5 * time.Second
	writeTime  = 15 * time.Second
	idleConn   = 60 * time.Second
	stopTime   = 2 * time.Second
)

// run serves until it is stopped, or until nobody has viewed a page for the time that --idle sets.
// It returns 1 for an error and 2 for wrong usage.
func run(args []string, getenv func(string) string, talk io.Writer) int {
	flags := flag.NewFlagSet("gpusched-web", flag.ContinueOnError)
	flags.SetOutput(talk)
	listen := flags.String("listen", "", "loopback `address` to listen on, such as 127.0.0.1:9837; default: systemd's socket")
	socket := flags.String("socket", "", "`path` of the scheduler's socket")
	idle := flags.Duration("idle", 0, "exit after this time without viewers; 0: never")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if flags.NArg() > 0 {
		fmt.Fprintf(talk, "gpusched-web: unexpected argument %q: only options are accepted, see --help\n", flags.Arg(0))
		return 2
	}
	l, err := listener(*listen, getenv)
	if err != nil {
		fmt.Fprintln(talk, "gpusched-web:", err)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	hs, w := newServer(&api.Client{Socket: *socket})
	if err := serve(ctx, l, hs, w, *idle); err != nil {
		fmt.Fprintln(talk, "gpusched-web:", err)
		return 1
	}
	return 0
}

// listener returns systemd's socket, or opens one on a loopback address.
func listener(address string, getenv func(string) string) (net.Listener, error) {
	if address == "" {
		l, err := loopback.Activated(getenv)
		if errors.Is(err, loopback.ErrNotActivated) {
			return nil, errors.New("systemd passed no socket: start it with 'systemctl enable --now gpusched-web.socket', or use --listen 127.0.0.1:9837")
		}
		if err != nil {
			return nil, err
		}
		return onLoopback(l)
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("--listen %q must be an address with a port, such as 127.0.0.1:9837", address)
	}
	if !loopback.Is(host) {
		return nil, fmt.Errorf("--listen %s is not a loopback address: the page has no password; to reach it from elsewhere, use ssh -L", address)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	return onLoopback(l)
}

// onLoopback closes and refuses a listener that other machines can reach.
func onLoopback(l net.Listener) (net.Listener, error) {
	if !loopback.Is(l.Addr().String()) {
		return nil, errors.Join(fmt.Errorf("%v is not a loopback address: the page has no password; put a proxy that asks for one in front of it", l.Addr()), l.Close())
	}
	return l, nil
}

// newServer returns the HTTP server, and the watcher that asks the scheduler.
func newServer(client *api.Client) (*http.Server, *watcher) {
	host, err := os.Hostname()
	if err != nil {
		host = "this machine"
	}
	w := newWatcher((&source{client: client}).everything, askInterval)
	hs := &http.Server{
		Handler: newSite(w, client, host), ReadHeaderTimeout: headerTime, ReadTimeout: headerTime, WriteTimeout: writeTime,
		IdleTimeout: idleConn, MaxHeaderBytes: 16 << 10,
	}
	loopback.MakeRoom(hs, maxWaiting)
	return hs, w
}

// serve handles requests until ctx is done, or until nobody has viewed a page for the duration
// maxIdle.
func serve(ctx context.Context, l net.Listener, hs *http.Server, w *watcher, maxIdle time.Duration) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	hs.BaseContext = func(net.Listener) context.Context { return ctx }
	go w.run(ctx)
	go func() {
		w.untilIdle(ctx, maxIdle)
		cancel() // ends the streams, because Shutdown waits for them
		limited, done := context.WithTimeout(context.Background(), stopTime)
		defer done()
		if hs.Shutdown(limited) != nil {
			hs.Close()
		}
	}()
	if err := hs.Serve(netutil.LimitListener(l, maxConns)); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
