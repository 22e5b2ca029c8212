package main

import (
	"context"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/gpusched/gpusched/cmd/loopback"
)

// keepAlive is the maximum time between two messages of a
// stream. Proxies and tunnels close silent connections.
const keepAlive = 15 * time.Second

// streams are the open streams. When there are too many, the oldest is closed, even if its client
// does not read. The browser of a closed stream reconnects by itself.
type streams struct {
	most int

	mu   sync.Mutex
	list []*func() // functions that end a stream, oldest first
}

// addStream adds a stream, which closeStream closes. The stream counts until the returned function
// is called.
func (s *streams) addStream(closeStream func()) (leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.list) >= s.most {
		(*s.list[0])()
		s.list = s.list[1:]
	}
	s.list = append(s.list, &closeStream)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.list = slices.DeleteFunc(s.list, func(there *func()) bool { return there == &closeStream })
	}
}

// serveLive streams the sections of each new state. It skips sections that have not changed since
// they were last sent.
func (s *site) serveLive(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	if r.Method == http.MethodHead {
		return
	}
	defer s.watcher.follow()()
	defer loopback.Hold(r)()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer s.streams.addStream(func() { cancel(); loopback.Close(r) })()
	out := stream{w: w, control: http.NewResponseController(w), sent: s.knownSections(r.URL.Query().Get("have"))}
	alive := time.NewTicker(keepAlive)
	defer alive.Stop()
	for err := out.send("retry: 3000\n\n"); err == nil; {
		now, next := s.watcher.latest()
		if now.number > 0 {
			if err = out.renew(s.sections(now)); err != nil {
				return
			}
		}
		select {
		case <-next:
		case <-alive.C:
			err = out.send(": still here\n\n")
		case <-ctx.Done():
			return
		}
	}
}

// A stream is the connection to one open page.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	sent    map[string]template.HTML
}

// knownSections returns the sections of the browser's page, if the page was made from the current
// state.
func (s *site) knownSections(have string) map[string]template.HTML {
	s.mu.Lock() // so that the sections belong to the compared state
	defer s.mu.Unlock()
	if s.made == nil || have != s.stateName(s.of) {
		return map[string]template.HTML{}
	}
	return maps.Clone(s.made)
}

// renew sends the sections that have changed.
func (s *stream) renew(made map[string]template.HTML) error {
	for _, name := range sections {
		if s.sent[name] == made[name] {
			continue
		}
		s.sent[name] = made[name]
		data, err := json.Marshal(struct {
			ID   string        `json:"id"`
			HTML template.HTML `json:"html"`
		}{name, made[name]})
		if err == nil {
			err = s.send(fmt.Sprintf("event: section\ndata: %s\n\n", data))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// send writes a text immediately. A client that does not read for writeTime is disconnected
// (invariant 5).
func (s *stream) send(text string) error {
	if err := s.control.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
		return err
	}
	if _, err := s.w.Write([]byte(text)); err != nil {
		return err
	}
	return s.control.Flush()
}
