package submit

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/afar"
	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/jobenv"
	"github.com/gpusched/gpusched/cmd/gpusched/remote"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

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
		if o := earliest(c.list); o != nil {
			got = o.host
		}
		if got != c.want {
			t.Errorf("%v: %q is the best", c, got)
		}
	}
}

// The other machine gets only the variables that make sense there. A dry run sends no secrets.
func TestAnotherMachineGetsNoVariablesOfThisOne(t *testing.T) {
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
	a := &cli.App{Env: cli.Env{Environ: []string{"HOME=/srv/you", "USER=you", "SHELL=/bin/you", "SSH_TTY=/dev/pts/1"}}}
	t.Chdir(t.TempDir())
	Surround(a, &remote.NewJob{Environ: environFor(environ, set, false), Dir: "/no/such", Umask: 0o27})
	if dir, err := jobenv.WorkDir(a, ""); dir != "/no/such" || err != nil || a.Umask != 0o27 {
		t.Errorf("%q, %v, %o", dir, err, a.Umask)
	}
	for name, want := range map[string]string{"HOME": "/srv/you", "USER": "you", "SHELL": "/bin/me", "DISPLAY": ":7", "SSH_TTY": "", "TOKEN": "hunter2"} {
		if got := a.Getenv(name); got != want {
			t.Errorf("%s is %q", name, got)
		}
	}
}

// A dry run sends no values of -e, however the option is written. All else is sent as it was typed.
func TestADryRunSendsNoValues(t *testing.T) {
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
		a.Words = strings.Fields(c.typed)
		parser, err := NewSubmitParser()
		if err != nil {
			t.Fatal(err)
		}
		k, err := parser.Parse(a.Words)
		if err != nil {
			t.Fatalf("%s: %v", c.typed, err)
		}
		o := k.Selected().Target.Addr().Interface().(NewJob).Options()
		o.Host = "b"
		n, err := o.newRemoteJob(a, newFleet())
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

// fakeSSH replaces ssh with a script.
func fakeSSH(t *testing.T, script string) (dir string, a *cli.App, said *bytes.Buffer) {
	t.Helper()
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "ssh"), []byte("#!/bin/sh\ncd "+dir+"\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	said = new(bytes.Buffer)
	w := bufio.NewWriter(said)
	return dir, &cli.App{Env: cli.Env{Out: &term.Terminal{W: w}, Err: &term.Terminal{W: w}, Getenv: os.Getenv, Getwd: os.Getwd}}, said
}

func TestCancellingEndsSSH(t *testing.T) {
	dir, a, _ := fakeSSH(t, "trap 'echo told >told' TERM\necho >began\nwhile :; do sleep 0.05; done\n")
	began := filepath.Join(dir, "began")
	if err := syscall.Mkfifo(began, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- afar.OverSSH(ctx, a, "a", []string{afar.AttendCommand, "output", "loud", "1"}, false) }()
	if _, err := os.ReadFile(began); err != nil {
		t.Fatal(err)
	}
	cancel()
	select {
	case err := <-done:
		if told, _ := os.ReadFile(filepath.Join(dir, "told")); !errors.Is(err, context.Canceled) || len(told) == 0 {
			t.Errorf("%v, told %q", err, told)
		}
	case <-time.After(time.Minute):
		t.Error("it goes on")
	}
}

func TestAnUnreachableMachineIsReported(t *testing.T) {
	dir, a, _ := fakeSSH(t, "echo >>calls\necho 'no route' >&2\nexit 255\n")
	err := afar.OverSSH(t.Context(), a, "a", []string{"logs", "1"}, false)
	calls, _ := os.ReadFile(filepath.Join(dir, "calls"))
	var e *api.Error
	if !errors.As(err, &e) || e.Code != api.CodeUnreachable || !strings.HasPrefix(e.Message, "a: ssh says: no route") || string(calls) != "\n" {
		t.Errorf("%v, %q", err, calls)
	}
}

// cutOffSSH is a script that acts as ssh. Its machine queues jobs until the connection is cut. The
// script records the requests.
const cutOffSSH = `echo "gpusched begins"
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

func TestASubmissionThatIsCutOffIsRepeatedWithItsKey(t *testing.T) {
	dir, a, _ := fakeSSH(t, "most=5\n"+cutOffSSH)
	a.Words = []string{"submit", "--", "true"}
	c := &JobOptions{Host: "b"}
	n, err := c.newRemoteJob(a, newFleet())
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, _, err := n.submit(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	reply, host, err := n.submit(t.Context())
	if err != nil || host != "b" || reply.Job.Host != "b" || n.fleet.queued["b"] != 4 {
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

// shortTimeouts sets short time-outs for a submission.
func shortTimeouts(t *testing.T, act, lost time.Duration) {
	wasAct, wasLost := afar.ActTime, afar.LostTime
	t.Cleanup(func() { afar.ActTime, afar.LostTime = wasAct, wasLost })
	afar.ActTime, afar.LostTime = act, lost
}

// submitTo submits a job to machine b, and returns the reply or the error as text.
func submitTo(t *testing.T, a *cli.App) (text string) {
	t.Helper()
	a.Words = []string{"submit", "--", "true"}
	n, err := (&JobOptions{Host: "b"}).newRemoteJob(a, newFleet())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	reply, _, err := n.submit(ctx)
	if ctx.Err() != nil {
		t.Fatal(ctx.Err())
	}
	a.Err.W.Flush()
	if err != nil {
		return err.Error()
	}
	return reply.Job.Called()
}

const mayBeQueued = "b may have queued the job, so no other machine is asked to"

// If a machine begins to answer every time and never finishes, the command tells the user, and
// finally gives up.
func TestASubmissionToAHangingMachineEnds(t *testing.T) {
	shortTimeouts(t, 600*time.Millisecond, 200*time.Millisecond)
	_, a, said := fakeSSH(t, "echo 'gpusched begins'\nexec sleep 1000\n")
	text := submitTo(t, a)
	for range 20 { // until the machine begins to answer in time
		if said.Len() == 0 {
			text = submitTo(t, a)
		}
	}
	if !strings.Contains(text, mayBeQueued) {
		t.Error(text)
	}
	if got := said.String(); strings.Count(got, "asking again") != 1 {
		t.Errorf("%q", got)
	}
}

// After a cut the job may be queued. So the message for a later refusal does not claim that the job
// is not queued. If the scheduler does not answer, it is asked again.
func TestARefusalAfterACutLeavesItOpen(t *testing.T) {
	shortTimeouts(t, time.Minute, time.Minute)
	for second, want := range map[string]string{
		"echo 'gpusched: the scheduler does not answer' >&2; exit 5": "b:7",
		"echo 'gpusched: your quota is used up' >&2; exit 7":         mayBeQueued,
	} {
		_, a, _ := fakeSSH(t, "echo 'gpusched begins'\necho >>asked\ncase $(wc -l <asked) in 1) exit 255 ;; 2) "+second+" ;; esac\n"+
			`echo '{"job":{"id":7,"state":"queued"}}'`+"\n")
		if text := submitTo(t, a); !strings.Contains(text, want) {
			t.Errorf("%s: %s", second, text)
		}
	}
	shortTimeouts(t, time.Minute, time.Second)
	_, a, _ := fakeSSH(t, "echo 'gpusched begins'\n[ -e asked ] || { >asked; exit 255; }\necho 'gpusched: the scheduler does not answer' >&2; exit 5\n")
	if text := submitTo(t, a); !strings.Contains(text, "the scheduler does not answer; "+mayBeQueued) {
		t.Error(text)
	}
}

// If the connection is cut, the submission of a file stops. The message says which jobs are queued,
// which may be queued and which are not. No other machine gets the uncertain job.
func TestAFileOfJobsStopsAtACut(t *testing.T) {
	shortTimeouts(t, time.Minute, time.Second)
	_, a, said := fakeSSH(t, "most=1000\n"+cutOffSSH)
	a.Words, a.Hosts = []string{"submit"}, []string{"b"}
	var list []lineJob
	for i := range 6 {
		cmd := Cmd{OutputFlags: cli.OutputFlags{Output: "table"}}
		cmd.Host = BestHost
		l := lineJob{number: i + 1, cmd: cmd}
		var err error
		if l.remote, err = cmd.newRemoteJob(a, newFleet()); err != nil {
			t.Fatal(err)
		}
		list = append(list, l)
	}
	jobs, err := (&list[0].cmd).submitLines(t.Context(), a, list)
	a.Finish(err)
	a.Out.W.Flush()
	if names := cli.Joined(jobs, " ", cli.NameOfJob); names != "b:0 b:1 b:2" {
		t.Errorf("queued %q", names)
	}
	for _, want := range []string{
		"3 of 6 jobs queued; line 4 may be queued too (see 'gpusched --hosts b list --mine -a'), and the other 2 are not",
		mayBeQueued,
	} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("%q is not in %q", want, said.String())
		}
	}
}

// Each line that a machine prints is shown with the machine's name, so no machine can speak for
// another.
func TestAMachineSpeaksForItselfOnly(t *testing.T) {
	_, a, said := fakeSSH(t, `echo "gpusched begins"; printf 'gpusched: no\nb: gone\ngpusched: b: trust me\033[31m\n' >&2; exit 3`)
	_, err := afar.Fetch(t.Context(), &cli.App{Env: cli.Env{Out: a.Out, Err: a.Err, Getenv: a.Getenv}, Session: cli.Session{Host: "a"}, Words: []string{"list"}}, func() (api.ListReply, error) { return api.ListReply{}, nil })
	if code := afar.ComplainOf(a, "a", err); code != error(cli.ExitStatus(3)) {
		t.Errorf("%v", code)
	}
	a.Err.W.Flush()
	if got, want := said.String(), "gpusched: a: no\ngpusched: a: b: gone\ngpusched: a: b: trust me?[31m\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
