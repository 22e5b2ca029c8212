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
	starts := offer{host: "now", reply: api.SubmitReply{Job: api.Job{State: job.Starting}}}
	waits := func(host string, in, ahead time.Duration) offer {
		there := now.Add(ahead)
		return offer{host: host, reply: api.SubmitReply{Job: api.Job{State: job.Queued, SubmittedAt: there, ExpectedStart: there.Add(in)}}}
	}
	unknown := offer{host: "unknown", reply: api.SubmitReply{Job: api.Job{State: job.Queued, StartUnknown: true}}}
	broken := offer{host: "broken", err: errors.New("no")}
	nothing := offer{host: "nothing", reply: api.SubmitReply{Job: api.Job{State: job.Queued}}}
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
		{[]offer{waits("by a fast clock", time.Minute, time.Hour), waits("soon", 10*time.Minute, 0)}, "by a fast clock"},
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

// An event is of a job by its name, its number or that of its array.
func TestAnEventIsOfTheJobThatIsNamed(t *testing.T) {
	of := api.Event{Event: job.Event{Job: 9, Called: "7_3"}}
	for id, want := range map[string]bool{"7_3": true, "7": true, "9": true, "8": false, "7_4": false} {
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
		parser, err := newParser(&struct {
			Logs logsCmd `cmd:""`
		}{}, io.Discard, nil)
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

// A new job takes along what is true there, and what only asks takes no secret.
func TestTheEnvironmentOfAnotherMachine(t *testing.T) {
	environ := []string{"PATH=/bin", "HOME=/home/me", "USER=me", "SSH_AUTH_SOCK=/tmp/x", "XDG_RUNTIME_DIR=/run/user/1", "SHELL=/bin/me", "DISPLAY=:7", "A=", "TOKEN=hunter2"}
	set := []string{"DISPLAY", "SHELL", "B=1"}
	text := func(dryRun bool) string {
		return strings.Join(environFor(environ, set, dryRun), " ")
	}
	if got := text(false); got != "PATH=/bin SHELL=/bin/me DISPLAY=:7 A= TOKEN=hunter2" {
		t.Error(got)
	}
	if got := text(true); got != "PATH=/bin SHELL= DISPLAY=" {
		t.Error(got)
	}
	a := &app{startedWith: startedWith{environ: []string{"HOME=/srv/you", "USER=you", "SHELL=/bin/you", "SSH_TTY=/dev/pts/1"}}}
	t.Chdir(t.TempDir())
	a.surround(&remote.NewJob{Environ: environFor(environ, set, false), Dir: "/no/such", Umask: 0o27})
	if dir, err := a.workDir(""); dir != "/no/such" || err != nil || a.umask != 0o27 {
		t.Errorf("%q, %v, %o", dir, err, a.umask)
	}
	for name, want := range map[string]string{"HOME": "/srv/you", "USER": "you", "SHELL": "/bin/me", "DISPLAY": ":7", "SSH_TTY": "", "TOKEN": "hunter2"} {
		if got := a.getenv(name); got != want {
			t.Errorf("%s is %q", name, got)
		}
	}
}

// A machine that is only asked is told no value of -e, however that is written, and all else as it was typed.
func TestAMachineThatIsOnlyAskedGetsNoValues(t *testing.T) {
	dir, a, _ := fakeSSH(t, "echo 'gpusched begins'\nread -r q\necho \"$q\" >asked\n"+`echo '{"job":{"state":"starting"}}'`+"\n")
	const secret = "TOKEN=a=hunter2"
	for _, c := range []struct{ typed, want string }{
		{"submit -e " + secret + " -- true", "submit -e TOKEN= -- true"},
		{"submit -e" + secret + " -- true", "submit -eTOKEN= -- true"},
		{"submit -qe " + secret + " -- true", "submit -qe TOKEN= -- true"},
		{"submit -qe" + secret + " -- true", "submit -qeTOKEN= -- true"},
		{"submit --set-env " + secret + " true", "submit --set-env TOKEN= true"},
		{"submit --set-env=" + secret + " true", "submit --set-env=TOKEN= true"},
		{"submit -e NAME -e E= -e PATH=/opt/bin --tag a=1 -e a=1 -- true", "submit -e NAME -e E= -e PATH=/opt/bin --tag a=1 -e a= -- true"},
	} {
		a.words = strings.Fields(c.typed)
		parser, err := newSubmitParser()
		if err != nil {
			t.Fatal(err)
		}
		k, err := parser.Parse(a.words)
		if err != nil {
			t.Fatalf("%s: %v", c.typed, err)
		}
		o := k.Selected().Target.Addr().Interface().(newJob).options()
		o.Host = "b"
		n, err := o.elsewhere(a, newFleet())
		if err != nil {
			t.Fatal(err)
		}
		for dryRun, want := range map[bool]string{true: c.want, false: c.typed} {
			if _, err := n.ask(t.Context(), "b", dryRun, "k"); err != nil {
				t.Fatal(err)
			}
			text, _ := os.ReadFile(filepath.Join(dir, "asked"))
			var asked remote.Typed
			if err := json.Unmarshal(text, &asked); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(asked.Words, " "); got != want {
				t.Errorf("%s, dry run %v: %s", c.typed, dryRun, got)
			}
		}
	}
}

// Of ids of several machines each takes its own.
func TestAMachineTakesItsOwnJobs(t *testing.T) {
	typed := []string{"a:12,14,b:3", "5", "b:7_[1,2]", "name:x,y", "a:name:b:1,2"}
	for _, c := range []struct {
		q    fromAfar
		want string
	}{
		{fromAfar{called: "a"}, "12,14 name:b:1,2"}, {fromAfar{called: "b"}, "3 7_[1,2]"}, {fromAfar{called: ".", plain: true}, "5 name:x,y"},
		{fromAfar{called: "c"}, ""},
	} {
		if got := strings.Join(c.q.ownWords(typed), " "); got != c.want {
			t.Errorf("%+v: %q", c.q, got)
		}
	}
	a := &app{whomAsked: whomAsked{asked: &fromAfar{called: "a"}}}
	for word, want := range map[string]string{"a:12": "12", "a:1,2,a:3": "1,2,3", "12": "12", "b:1": "b:1", "a:1,b:2": "a:1,b:2", "name:a:1": "name:a:1"} {
		if got := a.bare(word); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}

// fakeSSH puts a script in the place of ssh.
func fakeSSH(t *testing.T, script string) (dir string, a *app, said *bytes.Buffer) {
	t.Helper()
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "ssh"), []byte("#!/bin/sh\ncd "+dir+"\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	said = new(bytes.Buffer)
	w := bufio.NewWriter(said)
	return dir, &app{startedWith: startedWith{out: &term.Terminal{W: w}, err: &term.Terminal{W: w}, getenv: os.Getenv, getwd: os.Getwd}}, said
}

// Whoever is told to end tells the command on the other machine, and does not wait for it.
func TestSSHIsToldToEnd(t *testing.T) {
	dir, a, _ := fakeSSH(t, "trap 'echo told >told' TERM\necho >began\nwhile :; do sleep 0.05; done\n")
	began := filepath.Join(dir, "began")
	if err := syscall.Mkfifo(began, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- a.overSSH(ctx, "a", []string{attendCommand, "output", "loud", "1"}, false) }()
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
func TestAMachineAnswersBeforeACommandIsRunThere(t *testing.T) {
	dir, a, _ := fakeSSH(t, "echo >>calls\necho 'no route' >&2\nexit 255\n")
	err := a.overSSH(t.Context(), "a", []string{"logs", "1"}, false)
	calls, _ := os.ReadFile(filepath.Join(dir, "calls"))
	var e *api.Error
	if !errors.As(err, &e) || e.Code != api.CodeUnreachable || !strings.HasPrefix(e.Message, "a: ssh says: no route") || string(calls) != "\n" {
		t.Errorf("%v, %q", err, calls)
	}
}

// queues is an ssh whose machine queues jobs until it is cut off, and what it was asked.
const queues = `echo "gpusched begins"
exec 3<&0
cat <&3 >asked & q=$!
until [ -s asked ]; do sleep 0.02; done
kill $q
n=$(ls queued* 2>/dev/null | wc -l)
if grep -q '"dry_run":true' asked; then rm asked; echo '{"job":{"state":"starting"}}'; exit; fi
mv asked "queued$n"
if [ $n -ge 3 ] && [ $n -lt "$most" ]; then exit 255; fi
echo "{\"job\":{\"id\":$n,\"state\":\"queued\"}}"
`

// A submission that was cut off is asked for again, with the same key: the machine queues one job.
func TestASubmissionThatIsCutOffIsAskedForAgain(t *testing.T) {
	dir, a, _ := fakeSSH(t, "most=5\n"+queues)
	a.words = []string{"submit", "--", "true"}
	c := &jobOptions{Host: "b"}
	n, err := c.elsewhere(a, newFleet())
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, _, err := n.submit(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	reply, host, err := n.submit(t.Context())
	if err != nil || host != "b" || reply.Job.Host != "b" || n.fleet.given["b"] != 4 {
		t.Errorf("%+v, %q, %v", reply.Job, host, err)
	}
	keys := map[string]bool{}
	for i := range 6 {
		text, _ := os.ReadFile(filepath.Join(dir, "queued"+strconv.Itoa(i)))
		var asked remote.Typed
		if err := json.Unmarshal(text, &asked); err != nil || asked.Job == nil || asked.Job.Key == "" {
			t.Fatalf("%d: %v: %q", i, err, text)
		}
		keys[asked.Job.Key] = true
	}
	if len(keys) != 4 {
		t.Errorf("%d keys", len(keys))
	}
}

// short makes the times short that a machine has for a submission.
func short(t *testing.T, act, lost time.Duration) {
	wasAct, wasLost := actTime, lostTime
	t.Cleanup(func() { actTime, lostTime = wasAct, wasLost })
	actTime, lostTime = act, lost
}

// submitTo submits a job to machine b, and says what came of it.
func submitTo(t *testing.T, a *app) (text string) {
	t.Helper()
	a.words = []string{"submit", "--", "true"}
	n, err := (&jobOptions{Host: "b"}).elsewhere(a, newFleet())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	reply, _, err := n.submit(ctx)
	if ctx.Err() != nil {
		t.Fatal(ctx.Err())
	}
	a.err.W.Flush()
	if err != nil {
		return err.Error()
	}
	return reply.Job.Called()
}

const nobodyCanSay = "nobody can say whether b has queued the job, and no other machine was asked to"

// A machine that begins with each submission and ends none is left, and meanwhile the user is told.
func TestASubmissionEndsOnAMachineThatHangs(t *testing.T) {
	short(t, 600*time.Millisecond, 200*time.Millisecond)
	_, a, said := fakeSSH(t, "echo 'gpusched begins'\nexec sleep 1000\n")
	if text := submitTo(t, a); !strings.Contains(text, nobodyCanSay) {
		t.Error(text)
	}
	if got := said.String(); strings.Count(got, "it is asked again") != 1 {
		t.Errorf("%q", got)
	}
}

// Once a submission was cut off it may be queued, and a refusal does not say that it is not: of a scheduler that does
// not answer it is asked for again.
func TestARefusalAfterACutIsNotTheWholeTruth(t *testing.T) {
	short(t, time.Minute, 3*time.Second)
	for second, want := range map[string]string{
		"echo 'gpusched: the scheduler does not answer' >&2; exit 5": "b:7",
		"echo 'gpusched: your quota is used up' >&2; exit 7":         nobodyCanSay,
	} {
		_, a, _ := fakeSSH(t, "echo 'gpusched begins'\necho >>asked\ncase $(wc -l <asked) in 1) exit 255 ;; 2) "+second+" ;; esac\n"+
			`echo '{"job":{"id":7,"state":"queued"}}'`+"\n")
		if text := submitTo(t, a); !strings.Contains(text, want) {
			t.Errorf("%s: %s", second, text)
		}
	}
	short(t, time.Minute, time.Second)
	_, a, _ := fakeSSH(t, "echo 'gpusched begins'\n[ -e asked ] || { >asked; exit 255; }\necho 'gpusched: the scheduler does not answer' >&2; exit 5\n")
	if text := submitTo(t, a); !strings.Contains(text, "the scheduler does not answer; "+nobodyCanSay) {
		t.Error(text)
	}
}

// A file whose connection is cut stops there: what is queued, what may be and what is not is said, and no other
// machine gets the job.
func TestAFileOfJobsThatIsCutOff(t *testing.T) {
	short(t, time.Minute, time.Second)
	_, a, said := fakeSSH(t, "most=1000\n"+queues)
	a.words, a.hosts = []string{"submit"}, []string{"b"}
	var list []lineJob
	for i := range 6 {
		cmd := submitCmd{outputFlags: outputFlags{Output: "table"}}
		cmd.Host = bestHost
		l := lineJob{number: i + 1, cmd: cmd}
		var err error
		if l.away, err = cmd.elsewhere(a, newFleet()); err != nil {
			t.Fatal(err)
		}
		list = append(list, l)
	}
	jobs, err := (&list[0].cmd).submitLines(t.Context(), a, list)
	a.finish(err)
	a.out.W.Flush()
	if names := joined(jobs, " ", nameOfJob); names != "b:0 b:1 b:2" {
		t.Errorf("queued %q", names)
	}
	for _, want := range []string{
		"3 of 6 jobs queued; line 4 may be as well (see 'gpusched --hosts b list --mine -a'), and the other 2 are not",
		nobodyCanSay,
	} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("%q is not in %q", want, said.String())
		}
	}
}

// Of what a machine says each line is under its name: it can't speak for another.
func TestAMachineSpeaksForItself(t *testing.T) {
	_, a, said := fakeSSH(t, `echo "gpusched begins"; printf 'gpusched: no\nb: gone\ngpusched: b: trust me\033[31m\n' >&2; exit 3`)
	_, err := fetch(t.Context(), &app{startedWith: startedWith{out: a.out, err: a.err, getenv: a.getenv}, whomAsked: whomAsked{host: "a"}, words: []string{"list"}}, func() (api.ListReply, error) { return api.ListReply{}, nil })
	if code := a.complainOf("a", err); code != error(exitStatus(3)) {
		t.Errorf("%v", code)
	}
	a.err.W.Flush()
	if got, want := said.String(), "gpusched: a: no\ngpusched: a: b: gone\ngpusched: a: b: trust me?[31m\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// No machine gives a job the name of another's.
func TestDocumentsAreNamedByWhoReadsThem(t *testing.T) {
	task := &api.Task{Task: job.Task{Array: 7, Index: 3}, Name: "b:1"}
	doc := listAnswer{ListReply: api.ListReply{
		Jobs: []api.Job{{ID: 8, Host: "b", Task: task}, {ID: 9, Engine: "b"}},
		GPUs: []api.GPU{{Host: "b", GPU: job.GPU{Shares: []job.GPUShare{{Called: "7_3"}, {Called: "b:1", Job: 4}}}}},
	}}
	nameDocument("a", &doc)
	got := []string{doc.Jobs[0].Called(), doc.Jobs[1].Called(), gpuName(doc.GPUs[0]), doc.GPUs[0].Shares[0].Called, doc.GPUs[0].Shares[1].Called}
	if want := []string{"a:7_3", "a:9", "a:0", "a:7_3", "a:4"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	reply := whyAnswer{JobReply: api.JobReply{Job: api.Job{ID: 1}, Queue: &api.Queue{Ahead: []api.Ahead{{Ahead: job.Ahead{Called: "2"}}, {Ahead: job.Ahead{Called: "x\x1b"}}}}}}
	nameDocument("a", &reply)
	if q := reply.Queue.Ahead; reply.Job.Called() != "a:1" || q[0].Called != "a:2" || q[1].Called != "a:0" {
		t.Errorf("%+v", reply)
	}
}
