package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/remote"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

func TestWordsAreDividedAtTheirMachines(t *testing.T) {
	for word, want := range map[string][]placed{
		"12":                {{"", "12"}},
		"12,14-16":          {{"", "12,14-16"}},
		"a:12":              {{"a", "12"}},
		"a:7_3,5,b:1":       {{"a", "7_3,5"}, {"b", "1"}},
		"1,a:2":             {{"", "1"}, {"a", "2"}},
		"ann@b.c:@~1":       {{"ann@b.c", "@~1"}},
		".:12":              {{".", "12"}},
		"name:a:b,c":        {{"", "name:a:b,c"}},
		"a:name:x,y:z":      {{"a", "name:x,y:z"}},
		"slurm:12":          {{"", "slurm:12"}},
		"a:":                {{"a", ""}},
		":12":               {{"", ":12"}},
		"a b:12":            {{"", "a b:12"}},
		"7_[1,2],a:7_[3,4]": {{"", "7_[1,2]"}, {"a", "7_[3,4]"}},
	} {
		if got := placedWords(word); !slices.Equal(got, want) {
			t.Errorf("%q is %q, want %q", word, got, want)
		}
	}
}

func TestTheFirstToStartIsTheBest(t *testing.T) {
	now := time.Now()
	starts := offer{host: "now", place: &peer{}, reply: api.SubmitReply{Job: api.Job{State: job.Starting}}}
	waits := func(host string, in, ahead time.Duration) offer {
		return offer{host: host, place: &peer{ahead: ahead}, reply: api.SubmitReply{Job: api.Job{State: job.Queued, ExpectedStart: now.Add(in)}}}
	}
	unknown := offer{host: "unknown", place: &peer{}, reply: api.SubmitReply{Job: api.Job{State: job.Queued, StartUnknown: true}}}
	broken := offer{host: "broken", err: errors.New("no")}
	nothing := offer{host: "nothing", place: &peer{}, reply: api.SubmitReply{Job: api.Job{State: job.Queued}}}
	twin := starts
	twin.host = "twin"
	for _, c := range []struct {
		list []offer
		want string
	}{
		{[]offer{waits("late", time.Hour, 0), waits("soon", time.Minute, 0), unknown}, "soon"},
		{[]offer{unknown, waits("late", time.Hour, 0)}, "late"},
		{[]offer{broken, unknown}, "unknown"},
		{[]offer{waits("soon", time.Minute, 0), starts, twin}, "now"},
		{[]offer{twin, starts}, "twin"},
		{[]offer{unknown, waits("soon", time.Second, 0), nothing}, "nothing"},
		{[]offer{waits("by a fast clock", time.Hour, 59*time.Minute), waits("soon", 10*time.Minute, 0)}, "by a fast clock"},
		{[]offer{broken}, ""},
		{nil, ""},
	} {
		got := ""
		if o := first(c.list); o != nil {
			got = o.host
		}
		if got != c.want {
			t.Errorf("%v: %q is the best", c, got)
		}
	}
}

func TestTheEnvironmentOfAnotherMachine(t *testing.T) {
	env := func(list ...string) (out [][]byte) { return bytesOf(list) }
	n := &newElsewhere{c: &jobOptions{SetEnv: []string{"DISPLAY=:7", "SHELL"}}, req: api.SubmitRequest{
		Env: env("PATH=/bin", "HOME=/home/me", "USER=me", "SSH_AUTH_SOCK=/tmp/x", "XDG_RUNTIME_DIR=/run/user/1", "SHELL=/bin/me", "DISPLAY=:7", "A="),
	}}
	p := &peer{app: &app{host: "b"}}
	p.User, p.Home, p.Shell = "you", "/srv/you", "/bin/you"
	got := each(n.requestFor(p).Env, func(b []byte) string { return string(b) })
	want := []string{"PATH=/bin", "HOME=/srv/you", "USER=you", "SHELL=/bin/me", "DISPLAY=:7", "A="}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	p.app.host = "."
	if here := n.requestFor(p).Env; len(here) != len(n.req.Env) {
		t.Errorf("here: %q", here)
	}
}

// Thousands of lines ask for few things, and for no more of a command than the program and its script.
func TestWhatAFileOfJobsNeeds(t *testing.T) {
	dir := t.TempDir()
	q := needs{of: map[*newElsewhere]int{}}
	add := func(dir, mode string, argv ...string) *newElsewhere {
		n := &newElsewhere{c: &jobOptions{}, req: api.SubmitRequest{
			Argv: bytesOf(argv), Dir: []byte(dir), EnvMode: mode, Env: bytesOf([]string{"TOKEN=hunter2", "PATH=/no:/bin", "HOME=/h"}),
		}}
		q.add(n)
		return n
	}
	var fine []*newElsewhere
	for i := range 5000 {
		fine = append(fine, add(dir, "inherit", "sh", "-c", "true "+strconv.Itoa(i)))
	}
	fine = append(fine, add(dir, "clean", "anything"))
	wrong := []*newElsewhere{
		add(dir, "inherit", "no-such-program"), add(dir, "inherit", "sh", "-e", "no.sh", "a"), add(dir, "clean", "./no"), add("/no/such", "inherit", "sh"),
	}
	if text, err := json.Marshal(q.Question); err != nil || len(text) > 1000 || len(q.Needs) != 6 || strings.Contains(string(text), "VE9LRU49") {
		t.Errorf("%d needs, %s, %v", len(q.Needs), text, err)
	}
	a := &app{}
	looked := a.lookFor(t.Context(), q.Question)
	for _, n := range fine {
		if err := looked.Lack(q.of[n]); err != nil {
			t.Fatalf("%q: %v", n.req.Argv, err)
		}
	}
	for _, n := range wrong {
		if looked.Lack(q.of[n]) == nil {
			t.Errorf("%q in %q is there", n.req.Argv, n.req.Dir)
		}
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if a.lookFor(over, q.Question).Lack(0) == nil {
		t.Error("what there was no time for is there")
	}
}

func TestLinesAreNamedAndCounted(t *testing.T) {
	var list outLines
	for i := range 13 {
		list.add("a", i+1, errors.New("no"))
		if i < 11 {
			list.add("b", i+1, errors.New("no"))
		}
	}
	list.add("a", 14, errors.New("other"))
	got := make([]string, 0, len(list))
	for _, o := range list {
		got = append(got, o.host+": "+linesAre(o.lines))
	}
	want := []string{
		"a: lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 3 more are", "b: lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 11 are", "a: line 14 is",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// A machine is only asked with what an answer needs: the secrets of the environment stay here.
func TestWhatIsOnlyAskedHasNoSecret(t *testing.T) {
	req := api.SubmitRequest{Env: bytesOf([]string{"PATH=/bin", "TOKEN=hunter2", "HOME=/h", "PATHS=x", "HOME"})}
	got := each(onlyAsked(req).Env, func(b []byte) string { return string(b) })
	if !slices.Equal(got, []string{"PATH=/bin", "HOME=/h", "HOME"}) || len(req.Env) != 5 {
		t.Errorf("%q of %q", got, req.Env)
	}
}

// Of what a machine says each line is under its name: it can't speak for another.
func TestAMachineSpeaksForItself(t *testing.T) {
	err := (&fleet{}).of("a", &api.Error{Message: "no\nb: gone", Hint: "see 'gpusched list'\nb: trust me"})
	if got, want := err.Error(), "a: no\na: b: gone (see 'gpusched --hosts a list'\na: b: trust me)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// stuck is an engine behind a link that has died.
type stuck struct{ engine }

func (stuck) Cancel(ctx context.Context, _ string, _ api.CancelRequest) (api.JobReply, error) {
	<-ctx.Done()
	return api.JobReply{}, ctx.Err()
}

func (stuck) Wait(ctx context.Context, _ string, _ time.Duration) (api.JobReply, error) {
	select {
	case <-ctx.Done():
		return api.JobReply{}, ctx.Err()
	case <-time.After(time.Hour):
		return api.JobReply{}, nil
	}
}

// A command to one machine waits for its answer as long as for its greeting, and only a wait for longer.
func TestAMachineThatAnswersNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fleet{a: &app{}, open: map[string]*peer{"a": {app: &app{client: stuck{}}}}}
		began := time.Now()
		_, err := f.Cancel(t.Context(), "a:12", api.CancelRequest{})
		var e *api.Error
		if !errors.As(err, &e) || e.Code != api.CodeUnreachable || !strings.HasPrefix(e.Message, "a: no answer within") || time.Since(began) != remote.Patience {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		if _, err := f.Wait(t.Context(), "a:12", 0); err != nil {
			t.Errorf("a wait ends with %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := f.Cancel(ctx, "a:12", api.CancelRequest{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the end of whoever asks is %v", err)
		}
	})
}

// Whoever is told to end tells the command on the other machine, and does not wait for it.
func TestSSHIsToldToEnd(t *testing.T) {
	dir := t.TempDir()
	script := "#!/bin/sh\ntrap 'echo told >" + dir + "/told' TERM\necho >" + dir + "/began\nwhile :; do sleep 0.05; done\n"
	if err := os.WriteFile(filepath.Join(dir, "ssh"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	began := filepath.Join(dir, "began")
	if err := syscall.Mkfifo(began, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	a := &app{out: &term.Terminal{W: bufio.NewWriter(io.Discard)}, err: &term.Terminal{W: bufio.NewWriter(io.Discard)}}
	done := make(chan error, 1)
	go func() { done <- a.overSSH(ctx, "a", []string{attendCommand, "output", "loud", "1"}) }()
	if _, err := os.ReadFile(began); err != nil {
		t.Fatal(err)
	}
	cancel()
	select {
	case err := <-done:
		if told, _ := os.ReadFile(filepath.Join(dir, "told")); !errors.Is(err, context.Canceled) || len(told) == 0 {
			t.Errorf("%v, told %q", err, told)
		}
	case <-time.After(20 * time.Second):
		t.Error("it goes on")
	}
}

// A machine on which gpusched can't be asked is told before a command is run there, without ssh's own end.
func TestAMachineIsGreetedBeforeACommandIsRunThere(t *testing.T) {
	dir := t.TempDir()
	script := "#!/bin/sh\necho >>" + dir + "/calls\necho 'no route' >&2\nexit 255\n"
	if err := os.WriteFile(filepath.Join(dir, "ssh"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	a := &app{out: &term.Terminal{W: bufio.NewWriter(io.Discard)}, err: &term.Terminal{W: bufio.NewWriter(io.Discard)}}
	var e *api.Error
	err := a.overSSH(t.Context(), "a", []string{"logs", "1"})
	calls, _ := os.ReadFile(filepath.Join(dir, "calls"))
	if !errors.As(err, &e) || e.Code != api.CodeUnreachable || !strings.HasPrefix(e.Message, "a: ssh says: no route") || string(calls) != "\n" {
		t.Errorf("%v, %q", err, calls)
	}
}

// An event of another machine has its name in front of the job, whose number is typed without.
func TestAnEventIsOfTheJobThatIsNamed(t *testing.T) {
	of := api.Event{Job: 9, Called: "b:7_3"}
	for id, want := range map[string]bool{"7_3": true, "b:7_3": true, "7": true, "9": true, "8": false, "7_4": false, "b": false} {
		if got := isOf(&of, id); got != want {
			t.Errorf("%q: %v", id, got)
		}
	}
}

// What another machine is asked for is what was typed here.
func TestLogsAreAskedForAsTyped(t *testing.T) {
	for _, c := range []logsCmd{
		{}, {Follow: true}, {Lines: 5, Times: true}, {Attempt: everyAttempt}, {Attempt: 2, Failed: true},
	} {
		c.IDs = []string{"7", "@~1"}
		parser, err := newParser(grammarFor([]string{"logs"}), io.Discard, nil)
		if err != nil {
			t.Fatal(err)
		}
		k, err := parser.Parse(c.line(c.IDs))
		if err != nil {
			t.Fatal(err)
		}
		got, _ := k.Selected().Target.Addr().Interface().(*logsCmd)
		if !reflect.DeepEqual(got, &c) {
			t.Errorf("%q: %+v", c.line(c.IDs), got)
		}
	}
}

func TestLinesOfSeveralMachinesDoNotMix(t *testing.T) {
	var text bytes.Buffer
	var turn sync.Mutex
	to := &term.Terminal{W: bufio.NewWriter(&text)}
	x, y := &lineWriter{turn: &turn, to: to}, &lineWriter{turn: &turn, to: to}
	for _, step := range []struct {
		w    *lineWriter
		text string
	}{{x, "a:1: hel"}, {y, "b:1: hi\nb:1: th"}, {x, "lo\n"}, {y, "ere"}} {
		if n, err := step.w.Write([]byte(step.text)); n != len(step.text) || err != nil {
			t.Errorf("%q: %d, %v", step.text, n, err)
		}
	}
	x.end()
	y.end()
	if want := "b:1: hi\na:1: hello\nb:1: there\n"; text.String() != want {
		t.Errorf("%q, want %q", text.String(), want)
	}
	to.TTY = true
	if _, err := x.Write([]byte("\x1b[2Jhi\x1b]0;x\a\n")); err != nil || strings.ContainsAny(text.String(), "\x1b\a") {
		t.Errorf("%q, %v", text.String(), err)
	}
}

// cut is an engine of which the connection is cut when it has taken some jobs.
type cut struct {
	engine
	host  string
	takes int
	asked int
}

func (c *cut) Submit(_ context.Context, r api.SubmitRequest) (out api.SubmitReply, err error) {
	if r.DryRun {
		return out, nil
	}
	if c.asked++; c.asked > c.takes {
		return out, &api.Error{Code: api.CodeUnreachable, Message: "the connection ended without an answer"}
	}
	out.Job = api.Job{ID: job.ID(c.asked), Host: c.host, State: job.Queued}
	return out, nil
}

// A file whose connection is cut stops there: what is queued, what may be and what is not is said, and no other
// machine gets the job. Equal machines get jobs in turn.
func TestAFileOfJobsThatIsCutOff(t *testing.T) {
	var out, said bytes.Buffer
	a := &app{out: &term.Terminal{W: bufio.NewWriter(&out)}, err: &term.Terminal{W: bufio.NewWriter(&said)}}
	f := a.fleet()
	engines := map[string]*cut{"a": {host: "a", takes: 9}, "b": {host: "b", takes: 1}}
	for host, e := range engines {
		f.open[host] = &peer{app: &app{host: host, client: e, out: a.out, err: a.err}}
	}
	var list []lineJob
	for i := range 6 {
		cmd := submitCmd{outputFlags: outputFlags{Output: "table"}}
		cmd.Host = bestHost
		list = append(list, lineJob{number: i + 1, cmd: cmd, away: &newElsewhere{c: &cmd.jobOptions, fleet: f, hosts: []string{"a", "b"}, ofFile: true}})
	}
	jobs, err := (&list[0].cmd).submitLines(t.Context(), a, list)
	a.finish(err)
	a.out.W.Flush()
	a.err.W.Flush()
	names := joined(jobs, " ", nameOfJob)
	if names != "a:1 b:1 a:2" || engines["a"].asked != 2 || engines["b"].asked != 2 || strings.Count(out.String(), "queued") != 3 {
		t.Errorf("queued %q, asked %d and %d: %q", names, engines["a"].asked, engines["b"].asked, out.String())
	}
	for _, want := range []string{
		"3 of 6 jobs queued; line 4 may be as well (see 'gpusched --hosts b list --mine -a'), and the other 2 are not",
		"b: the connection ended without an answer; nobody can say whether b has queued the job, and no other machine was asked to",
	} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("%q is not in %q", want, said.String())
		}
	}
}
