package client

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/gpusched/gpusched/cmd/gpusched-slurm/export"
	"github.com/gpusched/gpusched/cmd/gpusched-slurm/migrate"
	"github.com/gpusched/gpusched/cmd/gpusched-slurm/onslurm"
	"github.com/gpusched/gpusched/cmd/gpusched/alias"
	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/engines"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/server"
	"github.com/gpusched/gpusched/daemon/server/servertest"
	"github.com/gpusched/gpusched/units/contract"
)

var update = flag.Bool("update", false, "write the present output into the scripts; commit only changes that you understand")

// withSlurm is the part that is linked into gpusched-slurm only.
var withSlurm = &engines.Slurm{New: onslurm.Other, Manual: onslurm.Manual, Migrate: migrate.Run, Export: export.Run}

func TestMain(m *testing.M) {
	if name := os.Getenv(fakeVariable); name != "" {
		os.Exit(fakeSlurm(name, os.Args[1:]))
	}
	program := func() {
		cli.Version, cli.Commit = "1.2.3", "abc1234"
		a := hostApp()
		if self, err := os.Executable(); err == nil && filepath.Base(self) == engines.SlurmProgram {
			a.Slurm = withSlurm
		}
		if dirs := os.Getenv("TEST_JOURNAL_DIRS"); dirs != "" {
			a.JournalDirs = filepath.SplitList(dirs)
		}
		if now, err := time.Parse(time.RFC3339, os.Getenv("TEST_NOW")); err == nil {
			a.Out.Now, a.Err.Now = now, now
		}
		if uid := os.Getenv("TEST_UID"); uid != "" {
			a.UID, _ = strconv.Atoi(uid)
		}
		os.Exit(runUntilSignal(a))
	}
	commands := map[string]func(){"gpusched": program, engines.SlurmProgram: program}
	for _, n := range alias.Names() {
		commands[n[0]] = program
	}
	testscript.Main(m, commands)
}

// A scriptedState is the content of backend.json. The daemon behind the server has this state. In
// the file, the uid -1 means the user who runs the test, and that user has the name "me".
type scriptedState struct {
	servertest.Backend
	Happened []job.Event
	Refuse   *api.Error
	Stops    map[job.ID]job.StopCause // by job id; the jobs' JSON does not include it
	None     bool                     // there is no daemon
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: *update,
		Setup:         startDaemon,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":       scriptExits,
			"begin":       scriptBegin,
			"end":         scriptEnd,
			"submissions": scriptSubmissions,
			"await":       scriptAwait,
			"environment": scriptEnvironment,
			"setups":      scriptSetups,
			"commands":    scriptCommands,
			"slurm":       scriptSlurm,

			"unquote-crlf": scriptCRLF,
		},
	})
}

type daemonKey struct{}

// startDaemon starts a server with backend.json at the socket s. For each backend-NAME.json it
// starts another one at the socket NAME.
func startDaemon(env *testscript.Env) error {
	others, err := filepath.Glob(filepath.Join(env.WorkDir, "backend-*.json"))
	if err != nil {
		return err
	}
	for _, path := range others {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), "backend-"), ".json")
		b, err := readBackend(path)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if err := serve(env, &b.Backend, name); err != nil {
			return err
		}
	}
	env.Setenv("GPUSCHED_SOCKET", filepath.Join(env.WorkDir, "s"))
	env.Vars = append(env.Vars, raceOptions)
	env.Setenv("TEST_NOW", "2026-03-01T12:00:00Z")
	node, err := os.Hostname()
	if err != nil {
		return err
	}
	env.Setenv("NODE", node)
	env.Setenv("UID", strconv.Itoa(os.Getuid()))
	env.Setenv("PWD", env.WorkDir)
	client, err := filepath.Abs("../../../contrib/python")
	if err != nil {
		return err
	}
	env.Setenv("PYTHON_CLIENT", client)
	env.Setenv("PYTHONPATH", client)
	env.Setenv("PYTHONDONTWRITEBYTECODE", "1")
	b, err := readBackend(filepath.Join(env.WorkDir, "backend.json"))
	if errors.Is(err, os.ErrNotExist) {
		b, err = readBackend("testdata/backend.json")
	}
	if err != nil || b.None {
		return err
	}
	env.Values[daemonKey{}] = &b.Backend
	return serve(env, &b.Backend, "s")
}

// readBackend reads a backend file.
func readBackend(path string) (*scriptedState, error) {
	b := &scriptedState{}
	b.Now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, b)
	}
	if err != nil {
		return nil, err
	}
	for i := range b.View.Jobs {
		if o := &b.View.Jobs[i].Owner; o.UID < 0 {
			o.UID = os.Getuid()
		}
		b.View.Jobs[i].Stop = b.Stops[b.View.Jobs[i].ID]
	}
	if b.Refuse != nil {
		b.Fail = b.Refuse
	}
	for i := range b.Happened {
		if uid := b.Happened[i].UID; uid != nil && *uid < 0 {
			*uid = os.Getuid()
		}
	}
	b.Announce(b.Happened...)
	return b, nil
}

func serve(env *testscript.Env, b *servertest.Backend, socket string) error {
	l, err := net.Listen("unix", filepath.Join(env.WorkDir, socket))
	if err != nil {
		return err
	}
	s := server.New(server.Options{
		Backend: func(context.Context) server.Backend { return b }, Version: "1.2.3", Commit: "abc1234", Log: slog.New(slog.DiscardHandler),
		GroupID: func(name string) (int, bool) { return os.Getgid(), name == "gpusched-admin" || name == "lab" }, // the user is in both
		UserName: func(uid int) string {
			if uid == os.Getuid() {
				return "me"
			}
			return map[int]string{54001: "alice", 54002: "bob"}[uid]
		},
		UserID: func(_ int, name string) (int, bool, error) {
			uid, ok := map[string]int{"alice": 54001, "bob": 54002, "me": os.Getuid()}[name]
			return uid, ok, nil
		},
		Printed: func(context.Context) error { // while this file exists, journald has not written everything
			if _, err := os.Stat(filepath.Join(env.WorkDir, "behind")); err != nil {
				return nil
			}
			return errors.Join(os.WriteFile(filepath.Join(env.WorkDir, "asked"), nil, 0o644), os.ErrDeadlineExceeded)
		},
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	env.Defer(func() { cancel(); <-done })
	return nil
}

// scriptExits implements "exits STATUS COMMAND…". The command must end with that exit status.
func scriptExits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS COMMAND...")
	}
	got := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if strconv.Itoa(got) != args[0] {
		ts.Fatalf("exit status %d, want %s", got, args[0])
	}
}

// scriptBegin implements "begin ID", which starts the job.
func scriptBegin(ts *testscript.TestScript, neg bool, args []string) {
	id, err := job.ParseID(args[0])
	ts.Check(err)
	ts.Value(daemonKey{}).(*servertest.Backend).Start(id)
}

// scriptEnd implements "end ID OUTCOME EXITCODE", which ends the job.
func scriptEnd(ts *testscript.TestScript, neg bool, args []string) {
	id, err := job.ParseID(args[0])
	ts.Check(err)
	code, err := strconv.Atoi(args[2])
	ts.Check(err)
	ts.Value(daemonKey{}).(*servertest.Backend).End(id, job.Result{Outcome: job.State(args[1]), ExitCode: code})
}

// scriptAwait implements "await FILE [TEXT]". It waits until the file exists and contains the text,
// up to the test's time limit.
func scriptAwait(ts *testscript.TestScript, neg bool, args []string) {
	for {
		if b, err := os.ReadFile(ts.MkAbs(args[0])); err == nil && strings.Contains(string(b), strings.Join(args[1:], " ")) {
			return
		}
		runtime.Gosched()
	}
}

// scriptSubmissions implements "submissions FILE". It writes the submissions to the file, without
// the values that differ from run to run.
func scriptSubmissions(ts *testscript.TestScript, neg bool, args []string) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	for _, s := range ts.Value(daemonKey{}).(*servertest.Backend).Submissions() {
		if len(s.Key) != 32 {
			ts.Fatalf("the request key is %q", s.Key)
		}
		if len(s.Payload.Limits) == 0 {
			ts.Fatalf("no resource limits arrived")
		}
		s.Key, s.Owner, s.Admin = "", job.Owner{}, false
		s.Payload.Limits, s.Payload.Umask = nil, 0
		s.Payload.Dir = strings.Replace(s.Payload.Dir, ts.Getenv("WORK"), "$WORK", 1)
		for i, arg := range s.Payload.Argv {
			if short := strings.Replace(arg, ts.Getenv("WORK"), "$WORK", 1); short != arg {
				s.Payload.Argv[i], s.Request.Derived = short, job.Derived{} // Derived depends on the path
			}
		}
		ts.Check(enc.Encode(s))
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(b.String()), 0o644))
}

// scriptCRLF implements "unquote-crlf FILE". It replaces each \r with a carriage return.
func scriptCRLF(ts *testscript.TestScript, _ bool, args []string) {
	text := strings.ReplaceAll(ts.ReadFile(args[0]), `\r`, "\r")
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o755))
}

// scriptCommands prints the commands that the daemon got for jobs, each with its job and signal.
func scriptCommands(ts *testscript.TestScript, _ bool, _ []string) {
	for _, d := range ts.Value(daemonKey{}).(*servertest.Backend).Commands() {
		fmt.Fprintf(ts.Stdout(), "%s %v", d.Command.Kind, d.Command.Job)
		if d.Command.Signal > 0 {
			fmt.Fprintf(ts.Stdout(), " %s", job.AimedSignal(d.Command.Signal, d.Command.Main))
		}
		fmt.Fprintln(ts.Stdout())
	}
}

// scriptEnvironment prints the environment, umask, limit and directory of the last submission.
func scriptEnvironment(ts *testscript.TestScript, neg bool, args []string) {
	all := ts.Value(daemonKey{}).(*servertest.Backend).Submissions()
	y := all[len(all)-1].Payload
	for _, l := range y.Limits {
		if l.Name == "NOFILE" {
			dir := strings.Replace(y.Dir, ts.Getenv("WORK"), ".WORK", 1)
			fmt.Fprintf(ts.Stdout(), "umask %04o, %d open files, dir %s\n", y.Umask, l.Soft, dir)
		}
	}
	for _, entry := range y.Env {
		fmt.Fprintln(ts.Stdout(), entry)
	}
}

// scriptSetups prints the set-up of each submission and the variables that the set-up sets.
func scriptSetups(ts *testscript.TestScript, neg bool, args []string) {
	for _, s := range ts.Value(daemonKey{}).(*servertest.Backend).Submissions() {
		text, err := json.Marshal(s.Payload.Setup)
		ts.Check(err)
		fmt.Fprintf(ts.Stdout(), "%s", strings.ReplaceAll(string(text), ts.Getenv("WORK"), "$WORK"))
		if c := s.Payload.Container; !c.IsZero() {
			text, err := json.Marshal(c)
			ts.Check(err)
			fmt.Fprintf(ts.Stdout(), " %s", strings.ReplaceAll(string(text), ts.Getenv("WORK"), "$WORK"))
		}
		if s.Payload.EnvMode != contract.EnvInherit {
			fmt.Fprintf(ts.Stdout(), " %q", s.Payload.Env)
		}
		fmt.Fprintln(ts.Stdout())
	}
}
