package main

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/server"
	"github.com/gpusched/gpusched/daemon/server/servertest"
	"github.com/gpusched/gpusched/units/contract"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

const attack = `<script>alert(1)</script>"'&`

// lab is a machine with four GPUs and jobs of three users, one of whom is an attacker.
func lab() *servertest.Backend { return labAt(noon) }

func labAt(noon time.Time) *servertest.Backend {
	alice, bob := job.Owner{UID: 1001, GID: 1001, User: "alice"}, job.Owner{UID: 1002, GID: 1002, User: "bob"}
	on := func(i, milli int) job.Allocation {
		return job.Allocation{GPU: contract.GPU{UUID: "GPU-" + string(rune('a'+i)), Index: i, Milli: milli}}
	}
	at := func(minutes int) time.Time { return noon.Add(time.Duration(minutes) * time.Minute) }
	gpu := func(i int, state job.GPUState, util int, used uint64, shares ...job.GPUShare) job.GPUView {
		return job.GPUView{GPU: job.GPU{Index: i, UUID: "GPU-" + string(rune('a'+i)), Name: "NVIDIA A100-SXM4-80GB", State: state, Shares: shares,
			UtilPercent: util, MemTotalBytes: 80 << 30, MemUsedBytes: used << 30, TempC: 40 + i, PowerMilliW: int64(60000 + 300*1000*util/100)}}
	}
	b := &servertest.Backend{Now: noon, Payloads: map[job.ID]job.Payload{}}
	b.View = job.View{
		StartedAt: at(-600), GPUSource: job.GPUSource{SampledAt: noon}, Counts: map[job.State]int{job.Running: 3, job.Queued: 3},
		Host: job.HostView{MemBytes: 256 << 30, PromisedMem: 96 << 30, CPUs: 64, PromisedCPUs: 24},
		GPUs: []job.GPUView{
			gpu(0, job.GPUBusy, 97, 61, job.GPUShare{Job: 1, Called: "1", Milli: 1000}),
			gpu(1, job.GPUShared, 35, 22, job.GPUShare{Job: 2, Called: "2", Milli: 500}, job.GPUShare{Job: 31, Called: "3_1", Milli: 250}),
			gpu(2, job.GPUFree, 0, 0),
			gpu(3, job.GPULost, -1, 0),
		},
		Jobs: []job.JobView{
			{Job: job.Job{ID: 1, Owner: alice, Label: job.Label{Name: "train-vit"}, State: job.Running, SubmittedAt: at(-200), ChangedAt: at(-192),
				Request: job.Request{GPUMilli: 1000, TimeLimit: job.Span(6 * time.Hour)},
				Attempt: &job.Attempt{Number: 1, GPUs: []job.Allocation{on(0, 1000)}, PlacedAt: at(-192), StartedAt: at(-192)}}, EndsAt: at(100)},
			{Job: job.Job{ID: 2, Owner: bob, Label: job.Label{Name: "notebook"}, State: job.Running, SubmittedAt: at(-65), ChangedAt: at(-65),
				Request: job.Request{GPUMilli: 500},
				Attempt: &job.Attempt{Number: 1, GPUs: []job.Allocation{on(1, 500)}, PlacedAt: at(-65), StartedAt: at(-65)}}},
			{Job: job.Job{ID: 4, Owner: bob, Label: job.Label{Name: "日本語の学習"}, State: job.Queued, SubmittedAt: at(-30), ChangedAt: at(-30),
				Request: job.Request{GPUMilli: 4000, GPUMemBytes: 40 << 30}, Life: job.Life{QueuedAt: at(-30)}},
				Reasons: []job.Reason{{Code: job.ReasonGPUBusy, GPU: 0, Job: 1, Have: 1}, {Code: job.ReasonGPUFree, GPU: 2}},
				Start:   job.ExpectedStart{At: at(100), From: at(80), By: at(160)}},
			{Job: job.Job{ID: 5, Owner: job.Owner{UID: 1003, GID: 1003, User: "mallory"}, Label: job.Label{Name: attack}, State: job.Queued, SubmittedAt: at(-10), ChangedAt: at(-10),
				Request: job.Request{GPUMilli: 1000}, Life: job.Life{QueuedAt: at(-10)}},
				Reasons: []job.Reason{{Code: job.ReasonHeld, GPU: job.NoGPU, Detail: job.Text(attack)}}, Start: job.ExpectedStart{Unknown: true}},
			{Job: job.Job{ID: 6, Owner: alice, Label: job.Label{Name: "old"}, State: job.Failed, SubmittedAt: at(-300), ChangedAt: at(-240),
				Request: job.Request{GPUMilli: 1000}, Result: &job.Result{Outcome: job.Failed, ExitCode: 3},
				Attempt: &job.Attempt{Number: 1, GPUs: []job.Allocation{on(2, 1000)}, PlacedAt: at(-290), StartedAt: at(-290), EndedAt: at(-240)}}},
		},
	}
	for _, j := range b.View.Jobs {
		b.Payloads[j.ID] = job.Payload{Program: contract.Program{Argv: []string{"python", "secret-command.py"}, EnvMode: contract.EnvInherit,
			Env: []string{"TOKEN=secret-token"}, Dir: "/home/secret-directory"}}
	}
	stay := func(kind job.StayKind, id job.ID, user string, milli, from, until, late int) job.Stay {
		s := job.Stay{Kind: kind, Job: id, User: user, Milli: milli, From: at(from)}
		if id != 0 {
			s.Called = id.String()
		}
		if until > 0 {
			s.Until = at(until)
		}
		if late > 0 {
			s.Late = at(late)
		}
		return s
	}
	course := func(i int, state job.GPUState, stays ...job.Stay) job.GPUCourse {
		return job.GPUCourse{Index: i, UUID: "GPU-" + string(rune('a'+i)), State: state, Stays: stays}
	}
	b.Ahead = job.Course{At: noon, Until: at(24 * 60), GPUs: []job.GPUCourse{
		course(0, job.GPUBusy, stay(job.StayRunning, 1, "alice", 1000, 0, 100, 160), stay(job.StayPlanned, 4, "bob", 1000, 100, 400, 520)),
		course(1, job.GPUShared, stay(job.StayRunning, 2, "bob", 500, 0, 0, 0), stay(job.StayRunning, 31, "bob", 250, 0, 60, 90), stay(job.StayPlanned, 7, "alice", 250, 30, 200, 0)),
		course(2, job.GPUFree, stay(job.StayPlanned, 4, "bob", 1000, 100, 400, 520), stay(job.StayReserved, 0, "", 1000, 600, 700, 0)),
		course(3, job.GPULost, stay(job.StayUnknown, 0, "", 1000, 0, 0, 0)),
	}, Waiting: 3}
	b.Checks = []job.Check{{Name: "gpus", Health: job.Degraded, Detail: "GPU 3 is lost", Next: "see 'gpusched gpus'"}}
	return b
}

// serveScheduler serves a backend on a socket. It returns the path of the socket, and a function
// that stops the server. The page asks as the user of the test; if that user is root, the answers
// contain private data.
func serveScheduler(t testing.TB, b server.Backend) (socket string, stop func()) {
	t.Helper()
	socket = filepath.Join(t.TempDir(), "s")
	names := map[int]string{1001: "alice", 1002: "bob", 1003: "mallory"}
	s := server.New(server.Options{Backend: func(context.Context) server.Backend { return b }, Version: "1.2.3",
		UserName: func(uid int) string { return names[uid] }})
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l); close(done) }()
	stop = func() { cancel(); <-done }
	t.Cleanup(stop)
	return socket, stop
}

// watchedPage serves the site and asks a scheduler at the given interval.
func watchedPage(t testing.TB, socket string, every time.Duration) *httptest.Server {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	client := &api.Client{Socket: socket}
	w := newWatcher((&source{client: client}).everything, every)
	go w.run(ctx)
	t.Cleanup(cancel)
	return serveSite(t, newSite(w, client, "lab"))
}

func serveSite(t testing.TB, s *site) *httptest.Server {
	srv := httptest.NewServer(s)
	t.Cleanup(func() { srv.CloseClientConnections(); srv.Close() })
	return srv
}

// get requests a path, and returns the status, the headers and the body.
func get(t testing.TB, url string, change ...func(*http.Request)) (int, http.Header, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range change {
		f(r)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, readAll(t, resp)
}

func readAll(t testing.TB, resp *http.Response) string {
	t.Helper()
	defer resp.Body.Close()
	var b []byte
	for {
		piece := make([]byte, 4096)
		n, err := resp.Body.Read(piece)
		if b = append(b, piece[:n]...); err != nil {
			return string(b)
		}
	}
}
