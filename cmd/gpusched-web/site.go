package main

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/cmd/loopback"
	"github.com/gpusched/gpusched/daemon/api"
)

//go:embed static
var files embed.FS

// sections are the parts of the page, in order. Each part is updated separately.
var sections = []string{"overview", "gpus", "running", "waiting", "plan", "ended"}

// pages are the HTML templates. They escape all values (invariant 2).
var pages = template.Must(template.New("").Funcs(template.FuncMap{
	"moment": moment, "check": check, "clean": term.Clean, "bar": newBar,
	"stamp": stamp, "utc": utc,
	"add": func(a, b float64) float64 { return tenth(a + b) },
}).ParseFS(files, "static/*.html"))

// barView is a bar with a number next to it.
type barView struct {
	Percent int // -1 if unknown
	Text    string
}

func newBar(percent int, text string) barView { return barView{min(percent, 100), text} }

// A site handles the requests of browsers.
type site struct {
	http.Handler
	watcher *watcher
	client  *api.Client
	archive *archive
	streams streams
	host    string
	begun   time.Time

	mu   sync.Mutex // guards the fields below
	of   state      // state that the sections below show
	made map[string]template.HTML
}

func newSite(w *watcher, c *api.Client, host string) *site {
	s := &site{
		watcher: w, client: c, host: host, begun: time.Now(), streams: streams{most: maxStreams},
		archive: &archive{client: c, turn: make(chan struct{}, 1), kept: map[int]pastDays{}},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.serveFront)
	mux.HandleFunc("GET /job/{id}", s.job)
	mux.HandleFunc("GET /live", s.serveLive)
	mux.HandleFunc("GET /history", s.serveHistory)
	for _, name := range []string{"style.css", "page.js", "icon.svg"} {
		mux.HandleFunc("GET /"+name, func(w http.ResponseWriter, r *http.Request) {
			http.ServeFileFS(w, r, files, "static/"+name)
		})
	}
	s.Handler = guard(mux)
	return s
}

// serveFront serves the main page. The page is complete without a script.
func (s *site) serveFront(w http.ResponseWriter, r *http.Request) {
	defer s.watcher.addViewer()()
	done := loopback.Hold(r)
	state, err := s.watcher.freshState(r.Context())
	done()
	if err != nil {
		return // the browser has disconnected
	}
	s.write(w, "front", frontView{Host: s.host, State: s.stateName(state), Sections: s.sections(state), Order: sections})
}

// stateName returns a name for a state. No two runs of this program use the same name.
func (s *site) stateName(now state) string {
	return fmt.Sprintf("%x-%d", s.begun.UnixNano(), now.number)
}

// frontView is the content of the main page.
type frontView struct {
	Host     string
	State    string // the state that the page shows; the stream continues from it
	Order    []string
	Sections map[string]template.HTML
}

// sections renders the sections of a state once for all viewers.
func (s *site) sections(now state) map[string]template.HTML {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.made == nil || now.number > s.of.number {
		s.made, s.of = render(now), now
	}
	return s.made
}

// render renders the sections of a state.
func render(s state) map[string]template.HTML {
	v := viewOf(s)
	out := make(map[string]template.HTML, len(sections))
	for _, name := range sections {
		var b strings.Builder
		if err := pages.ExecuteTemplate(&b, name, v); err != nil {
			panic(err) // a template does not fit its values; a test would find that
		}
		out[name] = template.HTML(b.String()) //nolint:gosec // made by the template, which escapes
	}
	return out
}

// job serves the page about one job.
func (s *site) job(w http.ResponseWriter, r *http.Request) {
	defer s.watcher.addViewer()()
	ctx, cancel := context.WithTimeout(r.Context(), askTime)
	defer cancel()
	done := loopback.Hold(r)
	reply, err := api.Show(ctx, s.client, r.PathValue("id"), api.JobQuery{})
	done()
	var refused *api.Error
	switch {
	case errors.As(err, &refused):
		w.WriteHeader(refused.Code.HTTPStatus())
		s.write(w, "refused", refused)
	case err != nil:
		http.Error(w, fmt.Sprintf("the scheduler did not answer within %v", askTime), http.StatusGatewayTimeout)
	default:
		s.write(w, "job", jobPageOf(s.host, reply))
	}
}

// write sends the whole page or, if rendering fails, no part of it.
func (s *site) write(w http.ResponseWriter, name string, view any) {
	var b bytes.Buffer
	if err := pages.ExecuteTemplate(&b, name, view); err != nil {
		panic(err)
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTime))
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(b.Bytes()) // fails only if the browser has disconnected
}
