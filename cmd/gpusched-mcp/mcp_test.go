package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/server"
	"github.com/gpusched/gpusched/daemon/server/servertest"
	"github.com/gpusched/gpusched/packaging/test/await"
	"github.com/gpusched/gpusched/packaging/test/golden"
	"github.com/gpusched/gpusched/units/contract"
)

var (
	noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	bin  string // the directory of the built programs
)

func TestMain(m *testing.M) {
	flag.Parse()
	dir, err := os.MkdirTemp("", "mcp")
	if err != nil {
		panic(err)
	}
	if out, err := exec.Command("go", "build", "-o", dir, "../gpusched", ".").CombinedOutput(); err != nil {
		panic(string(out))
	}
	bin = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// queue returns a scheduler with four jobs: a running, a waiting and a failed job of the test's
// user, and a waiting job of another user.
func queue() *servertest.Backend {
	me, other := job.Owner{UID: os.Getuid(), User: "me"}, job.Owner{UID: 54321, User: "bob"}
	one := func(id job.ID, o job.Owner, name string, state job.State) job.JobView {
		return job.JobView{Job: job.Job{ID: id, Owner: o, Label: job.Label{Name: name}, State: state, SubmittedAt: noon, ChangedAt: noon,
			Request: job.Request{GPUMilli: 1000}}}
	}
	b := &servertest.Backend{Now: noon, Payloads: map[job.ID]job.Payload{}, Unit: []job.Property{{Name: "User", Value: "me"}}}
	b.View.Jobs = []job.JobView{
		one(1, me, "train", job.Running), one(2, me, "next", job.Queued), one(3, other, "theirs\x1b[31m", job.Queued), one(4, me, "old", job.OutOfMemory),
	}
	b.View.Jobs[0].Attempt = &job.Attempt{Number: 1, PlacedAt: noon, StartedAt: noon}
	b.View.Jobs[1].Reasons = []job.Reason{{Code: job.ReasonGPUBusy, GPU: 0, Job: 1}}
	b.View.Jobs[3].Result = &job.Result{Outcome: job.OutOfMemory}
	b.View.Counts = map[job.State]int{job.Running: 1, job.Queued: 2}
	for _, j := range b.View.Jobs {
		b.Payloads[j.ID] = job.Payload{Program: contract.Program{Argv: []string{"python", "x.py"}, EnvMode: contract.EnvClean, Dir: "/"}}
	}
	return b
}

// connect starts the real program against a scheduler, and connects to it as an agent does.
func connect(t *testing.T, b server.Backend, args ...string) *mcp.ClientSession {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	s := server.New(server.Options{Backend: func(context.Context) server.Backend { return b }, Version: "1.2.3"})
	go func() { done <- s.Serve(ctx, l); close(done) }()
	cmd := exec.Command(filepath.Join(bin, "gpusched-mcp"), append([]string{"--gpusched", filepath.Join(bin, "gpusched")}, args...)...)
	cmd.Env = append(os.Environ(), contract.SocketVariable+"="+socket, "LANG=C.UTF-8")
	limited, stop := await.For(t.Context(), "gpusched-mcp", time.Minute)
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(limited, &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close(); stop(); cancel(); <-done })
	return session
}

// At the end of its input the server first answers all pending requests. If a request reuses the
// number of an unanswered request, the server neither answers it nor waits for it.
func TestAnswersAllOfItsInput(t *testing.T) {
	cmd := exec.Command(filepath.Join(bin, "gpusched-mcp"))
	cmd.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/list"}
{"jsonrpc":"2.0","id":2,"method":"tools/list"}
{"jsonrpc":"2.0","id":2,"method":"tools/list"}
`)
	began := time.Now()
	out, err := cmd.Output()
	if err != nil || strings.Count(string(out), "\n") < 2 || !strings.Contains(string(out), `"triage"`) {
		t.Errorf("%v, %.300s", err, out)
	}
	if took := time.Since(began); took > answerTime/2 {
		t.Errorf("that took %v", took)
	}
}

// The server answers a line that is no message with an error, and goes on.
func TestSurvivesWhatIsNoMessage(t *testing.T) {
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`
	for _, tt := range []struct{ bad, want string }{
		{"{nope", `"id":null`}, {strings.Repeat("x", 1<<17), `"code":-32700`}, {`"` + strings.Repeat("x", 17<<20) + `"`, "it is too long"}, {`{"jsonrpc":"2.0","id":5`, `"code":-32700`},
		{"Content-Length: 40\r", "this line is not JSON"}, {"[]", "the batch is empty"}, {"5", `"code":-32600`},
		{`{"id":9007199254740993,"method":"ping"}`, `"id":9007199254740993`}, {`{"jsonrpc":"2.0","id":"a","method":5}`, `"id":"a"`}, {`[{"jsonrpc":"1.0"}]`, `"id":null`},
	} {
		cmd := exec.Command(filepath.Join(bin, "gpusched-mcp"))
		cmd.Stdin = strings.NewReader(hello + "\n" + tt.bad + "\n" + `{"jsonrpc":"2.0","id":77,"method":"ping"}` + "\n")
		out, err := cmd.Output()
		if err != nil || !strings.Contains(string(out), tt.want) || !strings.Contains(string(out), `"id":77,"result"`) || strings.Count(string(out), "\n") != 3 {
			t.Errorf("%.40s: %v, %.600s", tt.bad, err, out)
		}
	}
}

// Whatever is between the messages, and however little a read returns, each message is passed on.
func TestSiftLosesNoMessage(t *testing.T) {
	const messages = 3000
	var in strings.Builder
	for i := range messages {
		fmt.Fprintf(&in, "Content-Length: 40\r\n\r\n{\"jsonrpc\":\"2.0\",\n\"id\":%d,\"method\":\"ping\"}\nx\n\n", i)
	}
	for name, from := range map[string]io.Reader{
		"at once": strings.NewReader(in.String()), "byte by byte": iotest.OneByteReader(strings.NewReader(in.String())),
	} {
		var out, answers strings.Builder
		if err := sift(from, &out, &answers); err != io.EOF {
			t.Errorf("%s: %v", name, err)
		}
		if passed, refused := strings.Count(out.String(), "\n"), strings.Count(answers.String(), "\n"); passed != messages || refused != 2*messages {
			t.Errorf("%s: of %d messages %d are passed on, of %d other lines %d refused", name, messages, passed, 2*messages, refused)
		}
	}
}

// call calls a tool. It returns the text of the answer, and whether the answer is an error.
func call(t *testing.T, s *mcp.ClientSession, tool string, in any) (text string, failed bool) {
	t.Helper()
	ctx, cancel := await.For(t.Context(), tool, time.Minute)
	defer cancel()
	r, err := s.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: in})
	if err != nil {
		return err.Error(), true
	}
	for _, c := range r.Content {
		if c, ok := c.(*mcp.TextContent); ok {
			text += c.Text
		}
	}
	return text, r.IsError
}

type args = map[string]any

// Invariant 1: the golden files contain the schemas of all tools.
func TestTools(t *testing.T) {
	for name, words := range map[string][]string{"reading.json": nil, "writing.json": {"--write"}} {
		s := connect(t, queue(), words...)
		var all []*mcp.Tool
		for tool, err := range s.Tools(t.Context(), nil) {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, tool)
			if words == nil && !tool.Annotations.ReadOnlyHint {
				t.Errorf("%s changes something, and --write is not set", tool.Name)
			}
		}
		text, err := json.MarshalIndent(all, "", "\t")
		if err != nil {
			t.Fatal(err)
		}
		golden.Check(t, name, string(text)+"\n")
	}
}

func TestReading(t *testing.T) {
	s := connect(t, queue())
	for _, tt := range []struct {
		tool string
		in   args
		want string
	}{
		{"status", nil, `"running":1`}, {"gpus", nil, `"gpus"`}, {"health", nil, `"checks"`}, {"plan", nil, `"until"`},
		{"list", args{"mine": true}, `"name":"next"`}, {"list", args{"state": []string{"running"}}, `"name":"train"`},
		{"list", args{"name": "th*", "limit": 1}, `"theirs`}, {"show", args{"id": "1"}, `"name":"train"`},
		{"why", args{"id": "2"}, "held by job 1"}, {"history", args{"hours": 1e6}, `"jobs"`}, {"usage", nil, `"week"`},
		{"triage", args{"id": "4"}, "request more host memory"},
		{"dry_run", args{"command": []string{"true"}, "directory": "/"}, `"unit"`},
	} {
		if text, failed := call(t, s, tt.tool, tt.in); failed || !strings.Contains(text, tt.want) {
			t.Errorf("%s %v: failed %t, %s, want %s", tt.tool, tt.in, failed, text, tt.want)
		}
	}
}

func TestErrorsAreSentences(t *testing.T) {
	s := connect(t, queue())
	for _, tt := range []struct {
		tool string
		in   args
		want string
	}{
		{"show", args{"id": "99"}, "no job 99"}, {"triage", args{"id": "1"}, "has not ended"},
		{"why", args{"id": "1; rm -rf /"}, "is not a job"}, {"logs", args{"id": "--help"}, "is not a job"},
		{"estimate", args{"model": "--help"}, "is not a model"}, {"list", args{"state": []string{"bogus"}}, "bogus"},
		{"dry_run", args{"command": []string{}, "directory": "/"}, "command is empty"},
		{"dry_run", args{"command": []string{"true"}, "directory": "here"}, "not an absolute path"},
		{"dry_run", args{"command": []string{"true"}, "directory": "/", "options": args{"gpus": "many"}}, "many"},
		{"dry_run", args{"command": []string{"true"}, "directory": "/", "options": args{"user": "root"}}, "user"},
		{"dry_run", args{"command": []string{"true"}, "directory": "/", "image": "i", "mounts": []string{"/no-such-directory"}}, "to mount"},
		{"dry_run", args{"command": []string{"no-such-program-here"}, "directory": "/"}, "no-such-program-here"},
		{"show", args{"id": ""}, "id is missing"}, {"wait", args{"ids": ""}, "ids is missing"},
		{"dry_run", args{"command": []string{"echo", strings.Repeat("x", 1<<18)}, "directory": "/"}, "put the text into a file"},
		{"submit", args{"command": []string{"true"}, "directory": "/"}, "submit"},
		{"cancel", args{"ids": []string{"1"}}, "cancel"},
	} {
		if text, failed := call(t, s, tt.tool, tt.in); !failed || !strings.Contains(text, tt.want) {
			t.Errorf("%s %v: failed %t, %s, want %s", tt.tool, tt.in, failed, text, tt.want)
		}
	}
}

// Invariant 3: values that look like options or shell syntax arrive unchanged.
func TestWriting(t *testing.T) {
	b := queue()
	s := connect(t, b, "--write")
	odd := []string{"/bin/echo", "--json", "$(id)", "a b", "--", "-g", "8"}
	text, failed := call(t, s, "submit", args{"command": odd, "directory": "/", "options": args{"name": "--hold", "gpus": "0", "hold": true}})
	if failed {
		t.Fatal(text)
	}
	got := b.Submissions()[0]
	if argv := got.Payload.Argv; !slices.Equal(argv, odd) || got.Label.Name != "--hold" || !got.Request.Hold || got.Request.GPUMilli != 0 || got.Payload.Dir != "/" {
		t.Errorf("queued %q in %q: %+v", argv, got.Payload.Dir, got.Request)
	}
	for _, tt := range []struct {
		tool string
		in   args
		want string
	}{
		{"hold", args{"ids": []string{"2"}}, `"held_by"`}, {"release", args{"ids": []string{"2"}}, `"jobs"`},
		{"update", args{"id": "2", "options": args{"time": "2h", "preemptible": false}}, `"time_limit_seconds":7200`},
		{"cancel", args{"ids": []string{"1", "99"}}, "no job 99"},
		{"resubmit", args{"id": "4", "options": args{"mem": "8G"}}, `"jobs"`},
	} {
		if text, failed := call(t, s, tt.tool, tt.in); failed || !strings.Contains(text, tt.want) {
			t.Errorf("%s %v: failed %t, %s, want %s", tt.tool, tt.in, failed, text, tt.want)
		}
	}
	var kinds []job.CommandKind
	for _, d := range b.Commands() {
		kinds = append(kinds, d.Command.Kind)
	}
	if want := []job.CommandKind{job.CommandHold, job.CommandRelease, job.CommandUpdate, job.CommandCancel}; !slices.Equal(kinds, want) {
		t.Errorf("asked for %v, want %v", kinds, want)
	}
}

// Invariant 6: the agent of root or of an administrator must not act on other users' jobs, unless
// it was started with --others.
func TestOthersJobsAreLeftAlone(t *testing.T) {
	b := queue()
	s := connect(t, b, "--write")
	for tool, in := range map[string]args{
		"cancel": {"ids": []string{"3"}}, "hold": {"ids": []string{"3"}}, "requeue": {"ids": []string{"3"}},
		"update": {"id": "3", "options": args{"time": "2h"}}, "resubmit": {"id": "3"},
	} {
		if text, failed := call(t, s, tool, in); !failed || !strings.Contains(text, "job 3 belongs to bob") || !strings.Contains(text, "--others") {
			t.Errorf("%s: failed %t, %s", tool, failed, text)
		}
	}
	if text, failed := call(t, s, "cancel", args{"ids": []string{"3", "1"}}); failed || !strings.Contains(text, "belongs to bob") {
		t.Errorf("one of each: failed %t, %s", failed, text)
	}
	if done := b.Commands(); len(done) != 1 || done[0].Command.Job != 1 || len(b.Submissions()) != 0 {
		t.Errorf("%+v, %+v", done, b.Submissions())
	}
	s = connect(t, b, "--write", "--others")
	if text, _ := call(t, s, "hold", args{"ids": []string{"3"}}); strings.Contains(text, "--others") {
		t.Errorf("started for that: %s", text)
	}
}

// Invariant 4: output is cleaned and its length is bounded.
func TestTextIsBounded(t *testing.T) {
	if got := stripControls("a\x1b[31mb\u202ec\r\n\td\x00"); got != "a[31mbc\n\td" {
		t.Errorf("got %q", got)
	}
	if got, cut := lastOf(strings.Repeat("line\n", 10), 12); got != "line\nline\n" || !cut {
		t.Errorf("got %q, %t", got, cut)
	}
	b := limitedBuffer{most: 5}
	for range 3 {
		if n, err := b.Write([]byte("abc")); n != 3 || err != nil {
			t.Errorf("%d %v", n, err)
		}
	}
	if b.String() != "abcab" || !b.lost {
		t.Errorf("kept %q, lost %t", b.String(), b.lost)
	}
}
