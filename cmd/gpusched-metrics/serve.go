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

// Limits of invariant 2.
const (
	maxConnections = 32
	maxWaiting     = 16
	maxRequests    = 2
	maxHeader      = 8 << 10
	headerTimeout  = 5 * time.Second
	requestTimeout = 9 * time.Second                // Prometheus waits for 10 s
	replyTimeout   = requestTimeout + 5*time.Second // counted from the beginning of the request
	idleTimeout    = 2 * time.Minute
)

// newServer returns the server for scrapes.
func newServer(client *api.Client) *http.Server {
	s := &http.Server{
		Handler: handler(client), MaxHeaderBytes: maxHeader, ReadHeaderTimeout: headerTimeout, ReadTimeout: headerTimeout,
		WriteTimeout: replyTimeout, IdleTimeout: idleTimeout, DisableGeneralOptionsHandler: true,
		ErrorLog: log.New(io.Discard, "", 0), // drops messages about interrupted clients
	}
	s.SetKeepAlivesEnabled(false) // an idle client must not occupy a connection
	loopback.MakeRoom(s, maxWaiting)
	return s
}

// serve handles requests until ctx is done.
func serve(ctx context.Context, l net.Listener, s *http.Server) error {
	broken := make(chan error, 1)
	go func() { broken <- s.Serve(netutil.LimitListener(l, maxConnections)) }()
	select {
	case err := <-broken:
		return err
	case <-ctx.Done():
	}
	last, cancel := context.WithTimeout(context.Background(), headerTimeout)
	defer cancel()
	return s.Shutdown(last)
}

func handler(client *api.Client) http.Handler {
	slots := make(chan struct{}, maxRequests)
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
		page, ok := ask(r, client, format, slots)
		if !ok {
			http.Error(w, "too many scrapes at once", http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", format.ContentType())
		w.Header().Set("Content-Length", strconv.Itoa(len(page)))
		w.Write(page)
	})
}

// ask waits for a free slot and asks the scheduler. It frees the slot before the answer is written,
// because a client may read slowly.
func ask(r *http.Request, client *api.Client, format metrics.Format, slots chan struct{}) (page []byte, ok bool) {
	defer loopback.Hold(r)()
	ctx, cancel := context.WithTimeout(r.Context(), requestTimeout)
	defer cancel()
	select {
	case slots <- struct{}{}:
		defer func() { <-slots }()
	case <-ctx.Done():
		return nil, false
	}
	page, err := api.Metrics(ctx, client, string(format))
	if err != nil {
		page = metrics.Down(format)
	}
	return page, true
}

// refuse returns the status and the reason if a request must be refused. The check of the Host
// header protects against DNS rebinding, which makes the host name of a foreign page resolve to
// this machine.
func refuse(r *http.Request) (status int, why string) {
	switch {
	case !loopback.Is(r.Host):
		return http.StatusForbidden, "use the host localhost or 127.0.0.1"
	case r.URL.Path != "/metrics":
		return http.StatusNotFound, "only /metrics is served"
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		return http.StatusMethodNotAllowed, "only GET is allowed"
	case r.ContentLength != 0:
		return http.StatusBadRequest, "the request must not have a body"
	}
	return 0, ""
}
