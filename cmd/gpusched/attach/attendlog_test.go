package attach

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/logs"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

// Entries that are older than the job belong to an earlier job with the same number, unless the
// clock was set back.
func TestEntriesOfAnEarlierJobAreLeftOut(t *testing.T) {
	at := time.UnixMicro(7000)
	asked, down := 0, false
	r := &ownStarts{known: map[string]bool{}, job: api.Job{ID: 5, SubmittedAt: at.Add(24 * time.Hour)}, jobs: oneJobEngine{job: func() (api.JobReply, error) {
		if asked++; down {
			return api.JobReply{}, errors.New("down")
		}
		return api.JobReply{
			Job:      api.Job{ID: 5, Attempt: 2, PlacedAt: at.Add(time.Hour)}, // the latest attempt is not known yet
			Attempts: []api.Attempt{{Attempt: job.Attempt{Number: 1, PlacedAt: at, InvocationID: "ab"}}},
		}, nil
	}}}
	for _, c := range []struct {
		e     logs.Entry
		ours  bool
		asked int
	}{
		{logs.Entry{Placed: "7000"}, true, 1}, {logs.Entry{Placed: "7000"}, true, 1},
		{logs.Entry{Placed: "3600007000", Invocation: "cd"}, true, 2},
		{logs.Entry{Placed: "9000", Invocation: "ab"}, true, 3}, // the clock was set back after that attempt
		{logs.Entry{Placed: "9000", Invocation: "ef"}, false, 4}, {logs.Entry{Placed: "9000", Invocation: "ef"}, false, 4},
		{logs.Entry{}, true, 4},
	} {
		if ours := r.isOurs(t.Context(), c.e); ours != c.ours || asked != c.asked {
			t.Errorf("%+v: %v after %d questions", c.e, ours, asked)
		}
	}
	if !r.isOurs(t.Context(), logs.Entry{Placed: "86400007000"}) || asked != 4 {
		t.Error("an entry younger than the job does not count as the job's, or is asked about")
	}
	if down = true; r.isOurs(t.Context(), logs.Entry{Placed: "1"}) {
		t.Error("an older entry that can't be asked about counts as the job's")
	}
	if down, r.job.Manager = false, api.UserManager; !r.isOurs(t.Context(), logs.Entry{Invocation: "of user@7.service"}) {
		t.Error("a line of the user's own systemd is not the job's")
	}
}

// If the journal can't be read, the job's log is shown byte for byte, from the beginning of this
// attempt to the end of the log.
func TestAttendReadsTheLog(t *testing.T) {
	dir, path := hidingJournal(t)
	write := func(text string) {
		f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = f.WriteString(text)
			f.Close()
		}
		if err != nil {
			t.Error(err)
		}
	}
	j := api.Job{
		ID: 5, UID: 62000, User: "ann", State: job.Running, Attempt: 1, InvocationID: "ab", PlacedAt: time.Now().Add(-time.Minute),
		Private: &api.Private{Program: api.Program{Log: contract.Log{Path: path}}},
	}
	ended := make(chan struct{})
	end := sync.OnceFunc(func() { close(ended) })
	defer time.AfterFunc(20*time.Second, end).Stop() // ends the test if nothing is printed
	state := func() (api.JobReply, error) {
		j := j
		select {
		case <-ended:
			j.State, j.EndedAt = job.Completed, time.Now()
			j.Result = &api.Result{Result: job.Result{Outcome: job.Completed}, Said: job.Text("completed")}
		default:
		}
		return api.JobReply{Job: j}, nil
	}
	var out, said bytes.Buffer
	a := &cli.App{
		Env: cli.Env{
			UID: 62000, JournalDirs: []string{dir}, Getenv: func(string) string { return "" }, Err: &term.Terminal{W: bufio.NewWriter(&said)},
			Out: &term.Terminal{W: bufio.NewWriter(writerFunc(func(b []byte) (int, error) {
				if out.Write(b); out.String() == "hello\n" {
					write("last word")
					end()
				}
				return len(b), nil
			}))},
		},
		Session: cli.Session{Client: oneJobEngine{job: state, ended: ended}},
	}
	write("of an earlier job\n" + contract.AttemptLine("5", "1") + "hello\n")
	submitted := j
	submitted.Private = nil // the scheduler's answers don't have Private
	err := Attend(t.Context(), a, submitted, false)
	if err != nil || out.String() != "hello\nlast word" {
		t.Errorf("%v, %q", err, out.String())
	}
	if text := said.String(); strings.Contains(text, "not shown") || strings.Count(text, "\n") != 2 {
		t.Errorf("it says %q", text)
	}
}

// hidingJournal makes a journal that has no readable entries. It returns the journal's directory
// and the path of a log in that directory.
func hidingJournal(t *testing.T) (dir, log string) {
	dir = t.TempDir()
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	if err := os.WriteFile(filepath.Join(dir, "journalctl"), []byte("#!/bin/sh\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir, filepath.Join(dir, "log")
}

// endedJob returns a job of four attempts that has ended and has a log, and an app that prints into
// out and said.
func endedJob(t *testing.T) (a *cli.App, j api.Job, out, said *bytes.Buffer) {
	t.Helper()
	dir, path := hidingJournal(t)
	text := "one\n" + contract.AttemptLine("5", "2") + "two\n" + contract.AttemptLine("5", "4") + "four\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	at := time.Now().Add(-time.Minute)
	attempt := func(n int, invocation string) api.Attempt {
		return api.Attempt{Attempt: job.Attempt{Number: n, InvocationID: invocation, PlacedAt: at, EndedAt: at}}
	}
	reply := api.JobReply{
		Job: api.Job{
			ID: 5, UID: 62000, User: "ann", State: job.Completed, Attempt: 4, InvocationID: "ef", PlacedAt: at, EndedAt: at,
			Private: &api.Private{Program: api.Program{Log: contract.Log{Path: path}}}, Result: &api.Result{Result: job.Result{Outcome: job.Completed}},
		},
		Attempts: []api.Attempt{attempt(1, "ab"), attempt(2, "cd"), attempt(3, ""), attempt(4, "ef")}, // the third could not start
	}
	ended := make(chan struct{})
	close(ended)
	out, said = &bytes.Buffer{}, &bytes.Buffer{}
	a = &cli.App{
		Env: cli.Env{
			UID: 62000, JournalDirs: []string{dir}, Getenv: func(string) string { return "" },
			Err: &term.Terminal{W: bufio.NewWriter(said)}, Out: &term.Terminal{W: bufio.NewWriter(out)},
		},
		Session: cli.Session{Client: oneJobEngine{job: func() (api.JobReply, error) { return reply, nil }, ended: ended}},
	}
	return a, reply.Job, out, said
}

// Attempts are all shown once, even if they follow each other faster than the job is polled.
func TestAttendReadsTheLogOfEveryStart(t *testing.T) {
	a, j, out, said := endedJob(t)
	err := Attend(t.Context(), a, j, true)
	a.Out.W.Flush()
	if err != nil || out.String() != "one\ntwo\nfour\n" {
		t.Errorf("%v, %q, it says %q", err, out.String(), said.String())
	}
}

// If the launcher ends after a client has connected, but before it serves the client, the job's
// output is shown all the same, and the client returns the job's exit status.
func TestLauncherEndsBeforeItServes(t *testing.T) {
	a, j, out, said := endedJob(t)
	conn, launcher, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	launcher.Close()
	at := &attendance{a: a, job: j, tty: true, line: &liveLine{t: a.Err}}
	err = at.inTerminal(t.Context(), &session{conn: conn, detached: make(chan struct{})})
	a.Err.W.Flush()
	if err != nil || out.String() != "one\ntwo\nfour\n" || !strings.Contains(said.String(), "job 5 completed") {
		t.Errorf("%v, %q, it says %q", err, out.String(), said.String())
	}
}

// If a job ends while a command attaches to it, the command says so.
func TestAttachWhileAJobEnds(t *testing.T) {
	a, j, _, _ := endedJob(t)
	j.State = job.Running // as it was a moment ago
	j.ID = 987654321      // no job here has a terminal of this name
	if _, err := connectLauncher(t.Context(), a, j, sessionOptions{}); err == nil || !strings.Contains(err.Error(), "has ended") {
		t.Error(err)
	}
}

type writerFunc func([]byte) (int, error)

func (w writerFunc) Write(b []byte) (int, error) { return w(b) }

// A oneJobEngine is an engine with one job.
type oneJobEngine struct {
	api.Engine
	job   func() (api.JobReply, error)
	ended <-chan struct{}
}

func (e oneJobEngine) Get(ctx context.Context, r *api.Route, _ string, _, out any) error {
	switch r {
	case api.RouteStatus:
		return nil
	case api.RouteWait:
		select {
		case <-e.ended:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	reply, err := e.job()
	if list, is := out.(*api.ListReply); is {
		list.Jobs = []api.Job{reply.Job}
		return err
	}
	*out.(*api.JobReply) = reply
	return err
}
