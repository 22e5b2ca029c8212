package api

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gpusched/gpusched/daemon/job"
)

// daemon serves h on a socket until the test ends.
func daemon(t *testing.T, h http.HandlerFunc) *Client {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	hs := &http.Server{Handler: h}
	go hs.Serve(l)
	t.Cleanup(func() { hs.Close() })
	return &Client{Socket: socket}
}

// cutOff closes the connection without an answer.
func cutOff(http.ResponseWriter) { panic(http.ErrAbortHandler) }

func answer(w http.ResponseWriter, v any) { json.NewEncoder(w).Encode(v) }

func refuse(w http.ResponseWriter, code Code) {
	w.WriteHeader(code.HTTPStatus())
	answer(w, ErrorReply{Schema: Schema, Error: Error{Code: code, Message: "m", Hint: "h"}})
}

func TestEachMethodAsksItsRoute(t *testing.T) {
	uid := 7
	for name, c := range map[string]struct {
		call func(*Client, context.Context) error
		want string
	}{
		"submit": {func(c *Client, x context.Context) error {
			_, err := c.Submit(x, SubmitRequest{Label: job.Label{Name: "n"}})
			return err
		}, `POST /v1/jobs {"name":"n"`},
		"list": {func(c *Client, x context.Context) error { _, err := List(x, c, ListQuery{}); return err }, "GET /v1/jobs "},
		"list of": {func(c *Client, x context.Context) error {
			_, err := List(x, c, ListQuery{IDs: "1,3-4", Ended: 2, User: "a b", UID: &uid, States: []job.State{"queued", "running"}, Name: "x", Reasons: WithReasons, Like: "a*", Tags: map[string]string{"k": "v=1"}, Since: time.Unix(0, 0)})
			return err
		}, "GET /v1/jobs?ended=2&ids=1%2C3-4&like=a%2A&name=x&reasons=1&since=1970-01-01T00%3A00%3A00Z&state=queued%2Crunning&tag=k%3Dv%3D1&uid=7&user=a+b "},
		"job": {func(c *Client, x context.Context) error { _, err := Show(x, c, "5", JobQuery{}); return err }, "GET /v1/jobs/5 "},
		"history": {func(c *Client, x context.Context) error {
			_, err := History(x, c, HistoryQuery{
				IDs: "1-3", Since: time.Unix(0, 0), UID: &uid, States: []job.State{"failed", "lost"}, Tag: "a=b", Order: "newest", Limit: 9, After: "z",
			})
			return err
		}, "GET /v1/history?after=z&ids=1-3&limit=9&order=newest&since=1970-01-01T00%3A00%3A00Z&states=failed%2Clost&tag=a%3Db&uid=7 "},
		"report": {func(c *Client, x context.Context) error {
			_, err := Report(x, c, ReportQuery{By: "user,week", Since: time.Unix(0, 0), Until: time.Unix(60, 0), User: "a b", Zone: "3600"})
			return err
		}, "GET /v1/report?by=user%2Cweek&since=1970-01-01T00%3A00%3A00Z&until=1970-01-01T00%3A01%3A00Z&user=a+b&zone=3600 "},
		"report of a uid": {func(c *Client, x context.Context) error { _, err := Report(x, c, ReportQuery{UID: &uid}); return err }, "GET /v1/report?uid=7 "},
		"usage":           {func(c *Client, x context.Context) error { _, err := Usage(x, c, UsageQuery{}); return err }, "GET /v1/usage "},
		"usage of": {func(c *Client, x context.Context) error {
			_, err := Usage(x, c, UsageQuery{User: "bob", Zone: "3600"})
			return err
		}, "GET /v1/usage?user=bob&zone=3600 "},
		"cancel": {func(c *Client, x context.Context) error {
			_, err := ActOnJob(x, c, RouteCancel, "7_3", CancelRequest{Signal: 10})
			return err
		}, `POST /v1/jobs/7_3/cancel {"signal":10}`},
		"wait": {func(c *Client, x context.Context) error { _, err := Wait(x, c, "5", 0); return err }, "GET /v1/jobs/5/wait?timeout_seconds=50 "},
		"gpus": {func(c *Client, x context.Context) error { _, err := GPUs(x, c); return err }, "GET /v1/gpus "},
		"pause": {func(c *Client, x context.Context) error {
			_, err := ActOnGPU(x, c, RoutePauseGPU, 2, PauseRequest{Reason: "r"})
			return err
		}, `POST /v1/gpus/2/pause {"reason":"r"}`},
		"hold":    {func(c *Client, x context.Context) error { _, err := ActOnJob(x, c, RouteHold, "5", nil); return err }, "POST /v1/jobs/5/hold "},
		"release": {func(c *Client, x context.Context) error { _, err := ActOnJob(x, c, RouteRelease, "5", nil); return err }, "POST /v1/jobs/5/release "},
		"requeue": {func(c *Client, x context.Context) error {
			_, err := ActOnJob(x, c, RouteRequeue, "7_3", nil)
			return err
		}, "POST /v1/jobs/7_3/requeue "},
		"update": {func(c *Client, x context.Context) error {
			_, err := ActOnJob(x, c, RouteUpdate, "5", job.Change{After: &[]job.Dependency{}, Begin: &time.Time{}})
			return err
		}, `POST /v1/jobs/5/update {"begin":"0001-01-01T00:00:00Z","after":[]}`},
		"drain": {func(c *Client, x context.Context) error {
			_, err := ActOnGPU(x, c, RouteDrainGPU, 2, PauseRequest{Until: time.Unix(0, 0).UTC()})
			return err
		}, `POST /v1/gpus/2/drain {"until":"1970-01-01T00:00:00Z"}`},
		"undrain": {func(c *Client, x context.Context) error {
			_, err := ActOnGPU(x, c, RouteUndrainGPU, 2, nil)
			return err
		}, "POST /v1/gpus/2/undrain "},
		"why":  {func(c *Client, x context.Context) error { _, err := Show(x, c, "7", JobQuery{Why: true}); return err }, "GET /v1/jobs/7?why=1 "},
		"plan": {func(c *Client, x context.Context) error { _, err := Plan(x, c, 0); return err }, "GET /v1/plan "},
		"plan within": {func(c *Client, x context.Context) error {
			_, err := Plan(x, c, 6*time.Hour)
			return err
		}, "GET /v1/plan?horizon_seconds=21600 "},
		"reservations": {func(c *Client, x context.Context) error { _, err := Reservations(x, c); return err }, "GET /v1/reservations "},
		"reserve": {func(c *Client, x context.Context) error {
			return c.Do(x, RouteReserve, "", ReserveRequest{GPUs: []int{1}}, new(ReservationsReply))
		}, `POST /v1/reservations {"gpus":[1],`},
		"unreserve": {func(c *Client, x context.Context) error {
			return c.Do(x, RouteUnreserve, "4", nil, new(ReservationsReply))
		}, "DELETE /v1/reservations/4 "},
		"tasks":   {func(c *Client, x context.Context) error { _, err := List(x, c, ListQuery{Array: 7}); return err }, "GET /v1/jobs?array=7 "},
		"resume":  {func(c *Client, x context.Context) error { _, err := ActOnGPU(x, c, RouteResumeGPU, 2, nil); return err }, "POST /v1/gpus/2/resume "},
		"status":  {func(c *Client, x context.Context) error { _, err := Status(x, c); return err }, "GET /v1/status "},
		"health":  {func(c *Client, x context.Context) error { _, err := Health(x, c); return err }, "GET /v1/health "},
		"version": {func(c *Client, x context.Context) error { _, err := Version(x, c); return err }, "GET /v1/version "},
	} {
		var got string
		client := daemon(t, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			got = r.Method + " " + r.URL.String() + " " + string(body)
			io.WriteString(w, "{}")
		})
		if err := c.call(client, t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !strings.HasPrefix(got, c.want) {
			t.Errorf("%s asked %q, want %q", name, got, c.want)
		}
	}
}

func TestEveryCodeArrives(t *testing.T) {
	for code := range exitStatus {
		client := daemon(t, func(w http.ResponseWriter, r *http.Request) { refuse(w, code) })
		_, err := Version(t.Context(), client)
		var e *Error
		if !errors.As(err, &e) || e.Code != code || e.Message != "m" || e.Hint != "h" {
			t.Errorf("%s arrived as %#v", code, err)
		}
	}
}

// An answer that is not in the form of the daemon's answers must not look like success.
func TestStrangeAnswersAreErrors(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{
		"not found page": http.NotFound,
		"no json":        func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "<html>") },
		"no code":        func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(500); io.WriteString(w, "{}") },
	} {
		_, err := Version(t.Context(), daemon(t, h))
		var e *Error
		if !errors.As(err, &e) || e.Code != CodeInternal {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAnUnreachableDaemonSaysWhatToDo(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "dead")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: file})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
	for socket, want := range map[string]string{
		filepath.Join(dir, "none"): "there is no such socket (is gpusched installed here and running? see 'systemctl status gpusched.socket')",
		file:                       "nobody listens there (an administrator starts it with",
	} {
		_, err := Version(t.Context(), &Client{Socket: socket})
		var e *Error
		if !errors.As(err, &e) || e.Code != CodeUnreachable || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", socket, err)
		}
	}
	client := daemon(t, func(w http.ResponseWriter, r *http.Request) { cutOff(w) })
	_, err = Version(t.Context(), client)
	if err == nil || !strings.Contains(err.Error(), "closed the connection without an answer") {
		t.Errorf("%v", err)
	}
	client.Own = true
	if _, err = Version(t.Context(), client); err == nil || !strings.Contains(err.Error(), "journalctl --user -u gpusched") {
		t.Errorf("a scheduler of one's own: %v", err)
	}
}

// Promise P1: if the answer to a submission is lost, the job is still queued only once.
func TestASubmitThatWasCutOffIsRepeatedWithItsKey(t *testing.T) {
	var keys []string
	client := daemon(t, func(w http.ResponseWriter, r *http.Request) {
		var in SubmitRequest
		json.NewDecoder(r.Body).Decode(&in)
		if keys = append(keys, in.Key); len(keys) == 1 {
			cutOff(w)
		}
		answer(w, SubmitReply{Job: Job{ID: 9}, Known: true})
	})
	out, err := client.Submit(t.Context(), SubmitRequest{Key: "k1"})
	if err != nil || out.Job.ID != 9 || len(keys) != 2 || keys[0] != "k1" || keys[1] != "k1" {
		t.Errorf("%+v %v, keys %q", out, err, keys)
	}
}

// A question that is asked before a submission survives a restart of the daemon, as the submission
// does.
func TestAQuestionThatWasCutOffIsRepeated(t *testing.T) {
	var n atomic.Int32
	client := daemon(t, func(w http.ResponseWriter, r *http.Request) {
		if n.Add(1) == 1 {
			cutOff(w)
		}
		answer(w, VersionReply{KeepScripts: true})
	})
	var v VersionReply
	err := Repeat(t.Context(), func() (err error) { v, err = Version(t.Context(), client); return err })
	if err != nil || !v.KeepScripts || n.Load() != 2 {
		t.Errorf("%+v %v after %d requests", v, err, n.Load())
	}
}

// A brief submission sends the header, and reads only the job's number from the answer.
func TestABriefSubmit(t *testing.T) {
	asked := ""
	client := daemon(t, func(w http.ResponseWriter, r *http.Request) {
		asked = r.Header.Get(PreferHeader)
		answer(w, SubmitReply{Job: Job{ID: 9, State: job.Queued}, Known: true})
	})
	out, err := client.Submit(t.Context(), SubmitRequest{Brief: true})
	if err != nil || asked != PreferBrief || out.Job.ID != 9 || out.Job.State != "" {
		t.Errorf("asked %q: %+v %v", asked, out, err)
	}
	out, err = client.Submit(t.Context(), SubmitRequest{Brief: true, DryRun: true})
	if err != nil || asked != "" || out.Job.State != job.Queued {
		t.Errorf("a dry run asked %q: %+v %v", asked, out, err)
	}
}

func TestASubmitWithoutAKeyIsNotRepeated(t *testing.T) {
	var n atomic.Int32
	client := daemon(t, func(w http.ResponseWriter, r *http.Request) { n.Add(1); cutOff(w) })
	if _, err := client.Submit(t.Context(), SubmitRequest{}); err == nil || n.Load() != 1 {
		t.Errorf("%v after %d requests", err, n.Load())
	}
}

func TestARequestWithoutRoomIsRepeated(t *testing.T) {
	var n atomic.Int32
	client := daemon(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if n.Add(1) == 1 {
			w.Header().Set("Retry-After", "1")
			w.Header().Set("Connection", "close")
			refuse(w, CodeUnavailable)
			return
		}
		answer(w, SubmitReply{Job: Job{ID: 9, Label: job.Label{Name: string(body)}}})
	})
	out, err := client.Submit(t.Context(), SubmitRequest{Label: job.Label{Name: "x"}})
	if err != nil || out.Job.ID != 9 || !strings.Contains(out.Job.Name, `"name":"x"`) || n.Load() != 2 {
		t.Errorf("%+v %v after %d requests", out, err, n.Load())
	}
}

func TestRetryAfter(t *testing.T) {
	for header, want := range map[string]struct {
		after time.Duration
		retry bool
	}{
		"": {}, "0": {0, true}, "3": {3 * time.Second, true}, "255": {retryTime, true}, "-1": {0, true}, "Tue, 03 Mar 2026 12:00:00 GMT": {0, true},
	} {
		if after, retry := retryAfter(header); after != want.after || retry != want.retry {
			t.Errorf("%q: %s %v", header, after, retry)
		}
	}
}

func TestARefusedSubmitIsNotRepeated(t *testing.T) {
	var n atomic.Int32
	client := daemon(t, func(w http.ResponseWriter, r *http.Request) { n.Add(1); refuse(w, CodeUnavailable) })
	if _, err := client.Submit(t.Context(), SubmitRequest{Key: "k"}); err == nil || n.Load() != 1 {
		t.Errorf("%v after %d requests", err, n.Load())
	}
}

// The socket's queue has room for one connection, which another client takes. In practice, the
// queue is longer, and many connections fill it.
func TestAFullQueueIsWaitedFor(t *testing.T) {
	addr := &unix.SockaddrUnix{Name: filepath.Join(t.TempDir(), "s")}
	listening, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err := errors.Join(err, unix.Bind(listening, addr), unix.Listen(listening, 0)); err != nil {
		t.Fatal(err)
	}
	defer unix.Close(listening)
	first, err := net.Dial("unix", addr.Name)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	tries := 0
	conn, err := knock(t.Context(), func() (net.Conn, error) {
		if tries++; tries == 3 {
			taken, _, err := unix.Accept(listening)
			if err != nil {
				t.Error(err)
			}
			defer unix.Close(taken)
		}
		return net.Dial("unix", addr.Name)
	})
	if err != nil || tries != 3 {
		t.Fatalf("%v after %d tries", err, tries)
	}
	conn.Close()
}

func TestAMissingDaemonIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		_, err := (&Client{Socket: filepath.Join(t.TempDir(), "none")}).Submit(t.Context(), SubmitRequest{Key: "k"})
		if err == nil || time.Since(start) > 0 {
			t.Errorf("%v after %s", err, time.Since(start))
		}
	})
}

func TestWaitOutlastsPassingErrors(t *testing.T) {
	steps := []func(http.ResponseWriter){
		func(w http.ResponseWriter) { refuse(w, CodeWaitTimeout) },
		func(w http.ResponseWriter) { refuse(w, CodeUnavailable) },
		cutOff,
		func(w http.ResponseWriter) { answer(w, JobReply{Job: Job{ID: 5, State: "failed"}}) },
	}
	var n atomic.Int32
	client := daemon(t, func(w http.ResponseWriter, r *http.Request) { steps[n.Add(1)-1](w) })
	out, err := Wait(t.Context(), client, "5", 0)
	if err != nil || out.Job.State != "failed" || int(n.Load()) != len(steps) {
		t.Errorf("%+v %v after %d requests", out, err, n.Load())
	}
}

func TestWaitEndsWhereItMust(t *testing.T) {
	client := daemon(t, func(w http.ResponseWriter, r *http.Request) { refuse(w, CodeNotFound) })
	var e *Error
	if _, err := Wait(t.Context(), client, "5", 0); !errors.As(err, &e) || e.Code != CodeNotFound {
		t.Errorf("no such job: %v", err)
	}
	forever := daemon(t, func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	if _, err := Wait(t.Context(), forever, "5", time.Millisecond); !errors.As(err, &e) || e.Code != CodeWaitTimeout {
		t.Errorf("timeout: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Wait(ctx, forever, "5", time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestTheDefaultSocketIsThePackagedOne(t *testing.T) {
	if (&Client{}).socket() != SocketPath || SocketPath != "/run/gpusched/gpusched.sock" {
		t.Error((&Client{}).socket())
	}
}

func TestPermissionDeniedIsExplained(t *testing.T) {
	err := (&Client{}).explain(t.Context(), &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.EACCES)})
	var e *Error
	if !errors.As(err, &e) || e.Code != CodeUnreachable || !strings.Contains(e.Message, "permission denied") {
		t.Errorf("%v", err)
	}
}

// A request whose address the daemon would not read is refused here. Otherwise the daemon would
// close the connection, as if it had crashed.
func TestTooManyNames(t *testing.T) {
	c := daemon(t, func(w http.ResponseWriter, _ *http.Request) { answer(w, ListReply{}) })
	_, err := List(t.Context(), c, ListQuery{IDs: strings.Repeat("1,", MaxHead/4)})
	if e := (*Error)(nil); !errors.As(err, &e) || e.Code != CodeUsage || !strings.Contains(e.Message, "too long") {
		t.Errorf("%v", err)
	}
	if _, err := List(t.Context(), c, ListQuery{IDs: strings.Repeat("1,", MaxHead/4-200)}); err != nil {
		t.Error(err)
	}
}
