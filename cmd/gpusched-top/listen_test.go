package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/gpusched/gpusched/cmd/gpusched-top/screen"
	"github.com/gpusched/gpusched/daemon/api"
)

// serveScheduler serves the handler on a socket until the test ends.
func serveScheduler(t *testing.T, answer http.HandlerFunc) *api.Client {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: answer}
	go server.Serve(l)
	t.Cleanup(func() { server.Close() })
	return &api.Client{Socket: socket}
}

// The screen learns that the stream is open. Many changes at once cause a single notice.
func TestListen(t *testing.T) {
	client := serveScheduler(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, `{"schema":"gpusched.v1","number":7,"event":"position"}`)
		for i := range 1000 {
			fmt.Fprintf(w, `{"schema":"gpusched.v1","number":%d,"event":"job-queued","job":1}`+"\n", 8+i)
		}
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	ctx, stop := context.WithCancel(t.Context())
	begun := time.Now()
	messages, done := make(chan tea.Msg, 2000), make(chan struct{})
	p := &program{client: client, send: func(m tea.Msg) { messages <- m }}
	go func() {
		defer close(done)
		p.listen(ctx)
	}()
	if m := <-messages; m != (screen.Announced{On: true}) {
		t.Errorf("the first message is %#v", m)
	}
	if m := <-messages; m != (screen.Changed{}) {
		t.Errorf("the second message is %#v", m)
	}
	stop()
	<-done
	if n, most := len(messages), 2+int(time.Since(begun)/notifyInterval); n > most {
		t.Errorf("a burst of 1000 changes caused %d messages, at most %d expected", n, most)
	}
}

// A scheduler that does not know the request for events is not asked again.
func TestOldSchedulersAreNotAskedAgain(t *testing.T) {
	client := serveScheduler(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintln(w, `{"schema":"gpusched.v1","error":{"code":"usage","message":"this daemon does not know the request"}}`)
	})
	var messages []tea.Msg
	p := &program{client: client, send: func(m tea.Msg) { messages = append(messages, m) }}
	p.listen(t.Context())
	if len(messages) != 1 || messages[0] != (screen.Announced{}) {
		t.Errorf("the messages are %#v", messages)
	}
}
