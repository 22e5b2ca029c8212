package client

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/submit"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// fileRun runs the program with a server at a socket. It returns the program's output.
func fileRun(ctx context.Context, t *testing.T, answer http.HandlerFunc, args ...string) (code int, out, err string) {
	dir := t.TempDir()
	l, failed := net.Listen("unix", filepath.Join(dir, "s"))
	if failed != nil {
		t.Fatal(failed)
	}
	s := &http.Server{Handler: answer}
	go s.Serve(l)
	defer s.Close()
	none := func(string) string { return "" }
	open := func(name string) *os.File {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	read := func(name string) string {
		text, _ := os.ReadFile(filepath.Join(dir, name))
		return string(text)
	}
	a := &cli.App{
		Env: cli.Env{
			Out: term.New(open("out"), none, time.Now()), Err: term.New(open("err"), none, time.Now()),
			Getenv: none, Getwd: os.Getwd, RestoreLimits: func() {},
		},
		Session: cli.Session{Client: &api.Client{Socket: filepath.Join(dir, "s")}},
	}
	code = run(ctx, a, append([]string{"submit", "--env", "clean"}, args...))
	a.Err.W.Flush()
	return code, read("out"), read("err")
}

// If the submission of a file is interrupted, the output says which jobs are queued, in every
// output format.
func TestAnInterruptedFileSaysWhatIsQueued(t *testing.T) {
	file := filepath.Join(t.TempDir(), "jobs")
	os.WriteFile(file, []byte("-t 1h -- /bin/sh a\n\n-t 3h -- /bin/sh b\n-t 2h -- /bin/sh c\n"), 0o600)
	for form, want := range map[string]string{"--json": `"id": 1`, "-q": "1\n"} {
		ctx, stop := context.WithCancel(t.Context())
		asked := 0
		code, out, err := fileRun(ctx, t, func(w http.ResponseWriter, r *http.Request) {
			if asked++; asked > 1 {
				stop()
				<-r.Context().Done()
				return
			}
			json.NewEncoder(w).Encode(api.SubmitReply{Job: api.Job{ID: 1, State: job.Queued}})
		}, form, "--objective", "makespan", "--file", file, "-g", "1")
		said := "1 of 3 jobs queued; line 4 may be queued too (see 'gpusched list'), and the other 1 are not"
		if code != cli.StatusInterrupted || !strings.Contains(out, want) || !strings.Contains(err, said) {
			t.Errorf("%s: ended with %d: %q, %q", form, code, out, err)
		}
	}
}

// 'gpusched submit -q' asks for no forecast, since it prints only the job's number.
func TestAQuietSubmitAsksForNoForecast(t *testing.T) {
	for form, brief := range map[string]bool{"-q": true, "": false, "--json": false, "-q --json": false} {
		var asked []string
		answer := func(w http.ResponseWriter, r *http.Request) {
			asked = append(asked, r.Header.Get(api.PreferHeader))
			json.NewEncoder(w).Encode(api.SubmitReply{Job: api.Job{ID: 1, State: job.Queued}})
		}
		code, _, err := fileRun(t.Context(), t, answer, append(strings.Fields(form), "--", "/bin/true")...)
		if want := map[bool]string{true: api.PreferBrief}[brief]; code != 0 || !slices.Equal(asked, []string{want}) {
			t.Errorf("%s: ended with %d, asked %q: %s", form, code, asked, err)
		}
	}
}

// Every line of a file of jobs is either queued or refused. Reading the file never hangs.
func TestEveryLineOfAFileOfJobsIsAnswered(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	large := write("large", "-- /bin/true\n")
	if err := os.Truncate(large, submit.MaxFile+1); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		large:                       "has more than 64 MiB",
		dir:                         "is a directory",
		write("nul", "-- a\x00b\n"): "line 1: it contains a NUL byte",
		write("many", strings.Repeat("--nosuch\n", 25)):                 "\ngpusched: 5 lines more are wrong (no job is queued)",
		write("long", "\n-- "+strings.Repeat("x", job.MaxPayloadBytes)): "line 2: a line may have at most",
	} {
		asked := func(http.ResponseWriter, *http.Request) { t.Errorf("%s: a job was submitted", file) }
		if code, _, err := fileRun(t.Context(), t, asked, "--file", file); code != 2 || !strings.Contains(err, want) {
			t.Errorf("%s: ended with %d: %.300q, without %q", file, code, err, want)
		}
	}
}
