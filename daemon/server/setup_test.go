package server

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/config"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/server/servertest"
	"github.com/gpusched/gpusched/units/contract"
)

// The people of the tests.
var (
	root     = peer{uid: 0, gid: 0}
	alice    = peer{uid: 1001, gid: 1001}
	bob      = peer{uid: 1002, gid: 1002}
	operator = peer{uid: 1003, gid: 1003, groups: []uint32{27, adminGID}} // a member of the administrators' group
	primary  = peer{uid: 1004, gid: adminGID}                             // the administrators' group is its main group
)

const adminGID = 990

var names = map[int]string{0: "root", 1001: "alice", 1002: "bob", 1003: "operator", 1004: "primary"}

var groups = map[string]int{"wheel": 27, "lab": 2001, "gpusched-admin": adminGID}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// queue returns a backend with alice's jobs: job 1 runs and job 2 waits.
func queue() *servertest.Backend {
	owner := job.Owner{UID: 1001, GID: 1001, User: "alice"}
	ref := job.Allocation{GPU: contract.GPU{UUID: "GPU-a", Index: 0}}
	return &servertest.Backend{
		Now: noon,
		View: job.View{
			Jobs: []job.JobView{
				{Job: job.Job{ID: 1, Owner: owner, Label: job.Label{Name: "one"}, State: job.Running, SubmittedAt: noon, ChangedAt: noon,
					Request: job.Request{GPUMilli: 1000}, Attempt: &job.Attempt{Number: 1, GPUs: []job.Allocation{ref}, PlacedAt: noon}}},
				{Job: job.Job{ID: 2, Owner: owner, Label: job.Label{Name: "two"}, State: job.Queued, SubmittedAt: noon, ChangedAt: noon,
					Request: job.Request{GPUMilli: 1000}},
					Reasons: []job.Reason{{Code: job.ReasonGPUBusy, GPU: 0, Job: 1}}},
			},
			GPUs: []job.GPUView{{GPU: job.GPU{
				Index: 0, UUID: "GPU-a", State: "busy", Jobs: []job.ID{1},
				Processes: []job.GPUProcess{{PID: 7, UID: 1001, Comm: "secretproject", UsedBytes: -1, Job: 1}},
			}}},
			Counts: map[job.State]int{},
		},
		Payloads: map[job.ID]job.Payload{1: {Program: contract.Program{Argv: []string{"python", "secret.py"}, EnvMode: contract.EnvInherit, Env: []string{"KEY=secret"}, Dir: "/home/alice"}}},
		Checks:   []job.Check{{Name: "gpus", Health: job.Healthy, Detail: "1 GPU"}},
		Ahead: job.Course{At: noon, Until: noon.Add(time.Hour), GPUs: []job.GPUCourse{{Stays: []job.Stay{
			{Kind: job.StayRunning, Job: 1, Called: "1", User: "alice", From: noon},
		}}}},
	}
}

// queueWithArray returns the backend of the function queue, with alice's array 3 added. The array
// has eight tasks. Task 3_1 runs as job 4.
func queueWithArray() *servertest.Backend {
	b := queue()
	b.Place = []job.Allocation{{GPU: contract.GPU{UUID: "GPU-a", Index: 0, Milli: 250, PromiseBytes: 1 << 30}}}
	b.View.Jobs = append(b.View.Jobs, job.JobView{Job: job.Job{
		ID: 3, Owner: b.View.Jobs[0].Owner, Label: job.Label{Name: "sweep"}, State: job.Queued, SubmittedAt: noon, ChangedAt: noon,
		Request: job.Request{GPUMilli: 250, Array: &job.Array{Ranges: []job.Range{{First: 0, Last: 7, Step: 1}}, Limit: 2, Params: []job.Param{
			{Name: "secretname", Values: []string{"secretvalue0", "secretvalue1"}}, {Name: "seed", Values: []string{"0", "1", "2", "3"}}}}},
		Life: job.Life{Tasks: &job.Tasks{}},
	}, Start: job.ExpectedStart{At: noon.Add(time.Hour), From: noon.Add(40 * time.Minute), By: noon.Add(2 * time.Hour)}})
	b.Payloads[3] = job.Payload{Program: contract.Program{Argv: []string{"train", "--a={secretname}", "--seed={seed}"}, EnvMode: contract.EnvClean, Dir: "/"}}
	b.StartTask(3, 1)
	return b
}

func testServer(b Backend, log *bytes.Buffer) *Server {
	cfg := config.Default()
	cfg.Quotas.Groups = map[string]job.Quota{"wheel": {}, "lab": {}, "gone": {}}
	o := Options{
		Backend: func(context.Context) Backend { return b }, Version: "1.2.3",
		Config:   func() *config.Config { return &cfg },
		GroupID:  func(name string) (int, bool) { gid, ok := groups[name]; return gid, ok },
		UserName: func(uid int) string { return names[uid] },
		UserID: func(_ int, name string) (int, bool, error) {
			for uid, n := range names {
				if n == name {
					return uid, true, nil
				}
			}
			return 0, false, nil
		},
	}
	if log != nil {
		o.Log = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	s := New(o)
	s.processOf = func(peer) (process, error) { return process{}, nil } // the people of the tests have no process
	return s
}

// ask sends one request as the peer. It returns status and body.
func ask(s *Server, p peer, method, path, body string) (int, string) {
	w := reply(s, p, method, path, body)
	return w.Code, w.Body.String()
}

// reply is like ask, but returns the whole reply.
func reply(s *Server, p peer, method, path, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r = r.WithContext(context.WithValue(r.Context(), peerKey{}, p))
	w := httptest.NewRecorder()
	s.mux.ServeHTTP(w, r)
	return w
}

// refusal reads the error in a reply.
func refusal(t *testing.T, body string) api.Error {
	t.Helper()
	var r api.ErrorReply
	if err := json.Unmarshal([]byte(body), &r); err != nil || r.Schema != api.Schema || r.Error.Code == "" || r.Error.Message == "" {
		t.Fatalf("not an error reply (%v): %s", err, body)
	}
	return r.Error
}

// listen serves on a real socket until the test ends, or until the caller stops it.
func listen(t *testing.T, s *Server) (socket string, stop func() error) {
	t.Helper()
	socket = filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l); close(done) }()
	t.Cleanup(func() { cancel(); <-done })
	return socket, func() error { cancel(); return <-done }
}

func overSocket(socket string) *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		return net.Dial("unix", socket)
	}}}
}

// listenAs is like listen, but the server takes p as the peer of each connection, instead of the
// user who runs the test.
func listenAs(t *testing.T, s *Server, p peer) (socket string, stop func() error) {
	socket, stop = serveAs(t, s, p)
	t.Cleanup(func() { stop() })
	return socket, stop
}

func serveAs(t testing.TB, s *Server, p peer) (socket string, stop func() error) {
	t.Helper()
	socket = filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	hs := s.httpServer()
	hs.ConnContext = func(ctx context.Context, _ net.Conn) context.Context { return context.WithValue(ctx, peerKey{}, p) }
	done := make(chan error, 1)
	go func() { done <- hs.Serve(l) }()
	stop = sync.OnceValue(func() error {
		err := s.drain(hs)
		<-done
		return err
	})
	return socket, stop
}

// sleep waits, which in a synctest bubble only moves the clock.
func sleep(d time.Duration) { <-time.After(d) }
