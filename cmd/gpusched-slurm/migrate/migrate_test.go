package migrate

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/gpusched/gpusched/cmd/gpusched/engines"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// movesOf opens the log of a user with the state directory dir.
func movesOf(t *testing.T, dir string) (*moveLog, error) {
	t.Helper()
	return openMoves(&engines.Shell{Environ: []string{"XDG_STATE_HOME=" + dir}})
}

// Without a home directory no log is written into the
// current directory, which may belong to another user.
func TestMovesAreNotNotedHere(t *testing.T) {
	t.Chdir(t.TempDir())
	if _, err := openMoves(&engines.Shell{Environ: []string{"HOME="}}); err == nil {
		t.Error("a log was opened")
	}
	if list, _ := os.ReadDir("."); len(list) > 0 {
		t.Errorf("the log is %s in the current directory", list[0].Name())
	}
	home := t.TempDir() // the account's home is used if the environment has none, as in a systemd unit
	if _, err := openMoves(&engines.Shell{Home: home}); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(home, ".local/state/gpusched/moved.jsonl")); err != nil {
		t.Error(err)
	}
}

// The log survives a crash. The last record about a job counts, and a line that was cut short does
// not. Only one process at a time can open the log.
func TestMovesAreNoted(t *testing.T) {
	dir := t.TempDir()
	l, err := movesOf(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Unix(1_700_000_000, 0).UTC()
	for _, line := range []moveLine{
		{Key: "box.7.5", Job: 7, At: at, Held: true}, {Key: "box.8.5", Job: 8, At: at}, {Key: "box.7.5", Job: 7, At: at, Held: true, Slurm: 1234},
		{Key: "other.8.5", Job: 8, At: at, Slurm: 99},
	} {
		if err := l.note(line); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := movesOf(t, dir); err == nil {
		t.Error("two processes have the log")
	}
	l.file.Close()
	file := filepath.Join(dir, "gpusched", "moved.jsonl")
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"key":"box.8.5","job":8,"slurm":12`); err != nil {
		t.Fatal(err)
	}
	f.Close()
	if l, err = movesOf(t, dir); err != nil {
		t.Fatal(err)
	}
	if line := l.lines["box.7.5"]; line.Slurm != 1234 || !line.Held || !line.At.Equal(at) {
		t.Errorf("%+v", line)
	}
	if l.lines["box.8.5"].Slurm != 0 || l.lines["other.8.5"].Slurm != 99 || len(l.lines) != 3 {
		t.Errorf("%+v", l.lines)
	}
	for _, line := range []moveLine{{Key: "box.8.5", Job: 8, Slurm: 13}, {Key: "box.7.5", Job: 7, Closed: true}} {
		if err := l.note(line); err != nil {
			t.Fatal(err)
		}
	}
	l.file.Close()
	again, err := movesOf(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer again.file.Close()
	if _, known := again.lines["box.7.5"]; known || again.lines["box.8.5"].Slurm != 13 || len(again.lines) != 2 {
		t.Errorf("after a line that was cut short and a closing one: %+v", again.lines)
	}
}

// If gpusched is killed, its sbatch continues. Until that sbatch has ended, no other gpusched can
// open the log: it could not yet find the job that sbatch submits.
func TestMovesAreLockedWhileOneIsSubmitted(t *testing.T) {
	dir := t.TempDir()
	l, err := movesOf(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("cat")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	l.file.Close() // the kernel does this for a killed process
	if again, err := movesOf(t, dir); err == nil {
		again.close()
		t.Error("another process got the log")
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	again, err := movesOf(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	again.close()
}

// prepared prepares a job that is moved together with the others.
func prepared(t *testing.T, j api.Job, others ...job.ID) (*movedJob, api.Code) {
	t.Helper()
	l, err := movesOf(t, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer l.file.Close()
	m := &migration{s: engines.Shell{UID: 1001, Request: repeatRequest}, log: l, host: "box"}
	m.live.keys = map[job.ID]string{3: "box.3.1", 2: "box.2.9"}
	m.live.waiters = map[job.ID][]waiter{6: {{id: 8, uid: 1001}}}
	for _, line := range []moveLine{{Key: "box.3.1", Job: 3, Slurm: 77}, {Key: "box.2.1", Job: 2, Slurm: 76}} {
		if err := l.note(line); err != nil {
			t.Fatal(err)
		}
	}
	chosen := map[job.ID]bool{j.ID: true}
	for _, id := range others {
		chosen[id] = true
	}
	mv, err := m.prepare(api.JobReply{Job: j})
	if err == nil {
		err = m.checkTies(&j, chosen)
	}
	var e *api.Error
	errors.As(err, &e)
	if e == nil {
		return mv, ""
	}
	return mv, e.Code
}

// Only the caller's own waiting jobs are moved, and only if they do not wait for a job that stays.
// Each job keeps its request.
func TestWhatCanBeMoved(t *testing.T) {
	base := func() api.Job {
		j := api.Job{ID: 9, UID: 1001, State: job.Queued, SubmittedAt: time.Unix(5, 0)}
		j.Request.GPUMilli, j.Tags, j.Begin = 2000, map[string]string{"k": "v"}, time.Unix(9, 0)
		j.Private = &api.Private{}
		j.Private.Argv, j.Private.Env = api.Words{"python", "x.py"}, api.Words{"A=1"}
		return j
	}
	for name, c := range map[string]struct {
		change func(*api.Job)
		with   []job.ID
		want   api.Code
	}{
		"as it is":                {func(*api.Job) {}, nil, ""},
		"another's":               {func(j *api.Job) { j.UID = 1002 }, nil, api.CodeForbidden},
		"running":                 {func(j *api.Job) { j.State = job.Running }, nil, api.CodeConflict},
		"a task":                  {func(j *api.Job) { j.Task = &api.Task{Task: job.Task{Array: 4}} }, nil, api.CodeUsage},
		"a terminal":              {func(j *api.Job) { j.Private.TTY = true }, nil, api.CodeUsage},
		"unreadable":              {func(j *api.Job) { j.Private = nil }, nil, api.CodeConflict},
		"behind one it is with":   {func(j *api.Job) { j.After = []job.Dependency{{Kind: job.AfterOK, Job: 4}} }, []job.ID{4}, ""},
		"behind one moved before": {func(j *api.Job) { j.After = []job.Dependency{{Kind: job.AfterAny, Job: 3}} }, nil, ""},
		"behind another of old":   {func(j *api.Job) { j.After = []job.Dependency{{Kind: job.AfterAny, Job: 2}} }, nil, api.CodeConflict},
		"before one that stays":   {func(j *api.Job) { j.ID = 6 }, nil, api.CodeConflict},
		"tagged moved":            {func(j *api.Job) { j.Tags = map[string]string{"moved": "mine"} }, nil, api.CodeUsage},
		"behind one that stays":   {func(j *api.Job) { j.After = []job.Dependency{{Kind: job.AfterAny, Job: 5}} }, []job.ID{4}, api.CodeConflict},
	} {
		j := base()
		c.change(&j)
		mv, code := prepared(t, j, c.with...)
		if code != c.want {
			t.Errorf("%s: %q, want %q", name, code, c.want)
		}
		if code == "" && (mv.key != "box.9.5" || mv.req.Label.Tags["moved"] != mv.key || mv.req.Label.Tags["k"] != "v" ||
			!mv.req.Request.Begin.Equal(j.Begin) || mv.req.Request.GPUMilli != 2000 || mv.req.Request.Hold || mv.req.Env[0] != "A=1") {
			t.Errorf("%s: %+v", name, mv)
		}
	}
	held := base()
	held.HeldBy = "alice"
	if mv, _ := prepared(t, held); mv == nil || !mv.req.Request.Hold {
		t.Errorf("a held job is not held in Slurm: %+v", mv)
	}
}

// If a submission to one cluster was cut off, the job is not searched for in another cluster.
func TestAnotherClusterIsNotAsked(t *testing.T) {
	m := &migration{conf: "/b"}
	if _, err := m.findEarlier(t.Context(), moveLine{At: time.Now(), Conf: "/a"}); err == nil || !strings.Contains(err.Error(), "SLURM_CONF=/a") {
		t.Errorf("%v", err)
	}
}

// The comment says where the job is now. If it is too long, it is cut between characters.
func TestMovedComment(t *testing.T) {
	long := strings.Repeat("ü", job.MaxCommentBytes/2)
	for was, want := range map[string]string{
		"": "moved to slurm:12", "mine": "moved to slurm:12; mine", "moved to slurm:12; mine": "moved to slurm:12; mine",
		"moved to slurm:12": "moved to slurm:12", "moved to slurm:123": "moved to slurm:12; moved to slurm:123",
	} {
		if got := movedComment(12, was); got != want {
			t.Errorf("%q becomes %q", was, got)
		}
	}
	if got := movedComment(123, long); len(got) > job.MaxCommentBytes || len(got) < job.MaxCommentBytes-1 || !utf8.ValidString(got) {
		t.Errorf("%d bytes: %q", len(got), got)
	}
}

// repeatRequest returns a request that queues the
// same job again, as the command line would make it.
func repeatRequest(of api.JobReply) (r api.SubmitRequest, err error) {
	r.Request, r.Label = of.Job.Request, of.Job.Label
	r.Argv, r.Env = of.Job.Private.Argv, of.Job.Private.Env
	return r, nil
}
