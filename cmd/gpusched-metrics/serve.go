package main

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/netutil"

	"github.com/gpusched/gpusched/cmd/loopback"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/metrics"
)

// The bounds of invariant 2.
const (
	maxConnections = 32
	maxWaiting     = 16
	maxQuestions   = 2
	maxHeader      = 8 << 10
	headerTime     = 5 * time.Second
	questionTime   = 9 * time.Second              // Prometheus waits for ten
	replyTime      = questionTime + 5*time.Second // from the request on
	idleTime       = 2 * time.Minute
)

// newServer is a server that answers scrapes.
func newServer(client *api.Client) *http.Server {
	s := &http.Server{
		Handler: handler(client), MaxHeaderBytes: maxHeader, ReadHeaderTimeout: headerTime, ReadTimeout: headerTime,
		WriteTimeout: replyTime, IdleTimeout: idleTime, DisableGeneralOptionsHandler: true,
		ErrorLog: log.New(io.Discard, "", 0), // clients that break off
	}
	s.SetKeepAlivesEnabled(false) // nobody keeps a place by not asking again
	loopback.MakeRoom(s, maxWaiting)
	return s
}

// serve answers until ctx is done.
func serve(ctx context.Context, l net.Listener, s *http.Server) error {
	broken := make(chan error, 1)
	go func() { broken <- s.Serve(netutil.LimitListener(l, maxConnections)) }()
	select {
	case err := <-broken:
		return err
	case <-ctx.Done():
	}
	last, cancel := context.WithTimeout(context.Background(), headerTime)
	defer cancel()
	return s.Shutdown(last)
}

// handler answers GET /metrics and nothing else.
func handler(client *api.Client) http.Handler {
	questions := make(chan struct{}, maxQuestions)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		if status, why := refuse(r); status != 0 {
			w.Header().Set("Connection", "close")
			http.Error(w, why, status)
			return
		}
		format := metrics.Prometheus
		if strings.Contains(r.Header.Get("Accept"), "application/openmetrics-text") {
			format = metrics.OpenMetrics
		}
		page, ok := ask(r, client, format, questions)
		if !ok {
			http.Error(w, "too many scrapes at once", http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", format.ContentType())
		w.Header().Set("Content-Length", strconv.Itoa(len(page)))
		w.Write(page)
	})
}

// ask asks the scheduler when there is a place for a question. Nothing of that is kept while the
// answer is written: a client may read as slowly as it likes.
func ask(r *http.Request, client *api.Client, format metrics.Format, questions chan struct{}) (page []byte, ok bool) {
	defer loopback.Hold(r)()
	ctx, cancel := context.WithTimeout(r.Context(), questionTime)
	defer cancel()
	select {
	case questions <- struct{}{}:
		defer func() { <-questions }()
	case <-ctx.Done():
		return nil, false
	}
	page, err := api.Metrics(ctx, client, string(format))
	if err != nil {
		page = metrics.Down(format)
	}
	return page, true
}

// refuse says what is wrong with a request. That it names this machine keeps pages out
// that a browser on it has from a server whose name was made to lead here (DNS rebinding).
func refuse(r *http.Request) (status int, why string) {
	switch {
	case !loopback.Is(r.Host):
		return http.StatusForbidden, "ask for localhost or 127.0.0.1, and by no other name"
	case r.URL.Path != "/metrics":
		return http.StatusNotFound, "there is /metrics and nothing else"
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		return http.StatusMethodNotAllowed, "there is GET and nothing else"
	case r.ContentLength != 0:
		return http.StatusBadRequest, "send no body"
	}
	return 0, ""
}
