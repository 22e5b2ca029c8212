package client

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/engines"
	"github.com/gpusched/gpusched/cmd/gpusched/feed"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/server"
	"github.com/gpusched/gpusched/daemon/server/servertest"
	"github.com/gpusched/gpusched/units/contract"
)

// A moveRig is a daemon with waiting jobs, and a Slurm whose sbatch can be replaced.
type moveRig struct {
	t       *testing.T
	backend *servertest.Backend
	socket  string
	state   string
	environ []string
	arrives func(job.Command) // called before the daemon carries out a command
}

// A hookedBackend is the daemon's backend with a hook, by which a test changes something between
// two requests.
type hookedBackend struct {
	*servertest.Backend
	rig *moveRig
}

func (l hookedBackend) Do(ctx context.Context, who job.Actor, c job.Command) error {
	if l.rig.arrives != nil {
		l.rig.arrives(c)
	}
	return l.Backend.Do(ctx, who, c)
}

func newMoveRig(t *testing.T) *moveRig {
	t.Helper()
	r := &moveRig{t: t, state: t.TempDir(), environ: installFakeSlurm(t)}
	r.socket = filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", r.socket)
	if err != nil {
		t.Fatal(err)
	}
	r.backend = &servertest.Backend{Now: time.Now(), Payloads: map[job.ID]job.Payload{}}
	s := server.New(server.Options{
		Backend: func(context.Context) server.Backend { return hookedBackend{r.backend, r} }, Version: "1.2.3", Log: slog.New(slog.DiscardHandler),
		UserName: func(uid int) string { return map[int]string{os.Getuid(): "me"}[uid] },
	})
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		stop()
		<-done
	})
	return r
}

// add adds a waiting job that depends on the jobs in the last arguments.
func (r *moveRig) add(id job.ID, uid int, dependsOn ...job.ID) *job.JobView {
	v := job.JobView{Job: job.Job{ID: id, Owner: job.Owner{UID: uid, User: map[bool]string{true: "me", false: "bob"}[uid == os.Getuid()]},
		Label: job.Label{Name: "n"}, State: job.Queued, SubmittedAt: time.Unix(1_700_000_000, 0)}}
	for _, on := range dependsOn {
		v.Pending = append(v.Pending, job.Dependency{Kind: job.AfterOK, Job: on})
	}
	v.Request.MemBytes = 16 << 20
	r.backend.Payloads[id] = job.Payload{Program: contract.Program{Argv: []string{"true"}, Dir: "/tmp", Env: []string{"PATH=/usr/bin:/bin"}}}
	r.backend.View.Jobs = append(r.backend.View.Jobs, v)
	return &r.backend.View.Jobs[len(r.backend.View.Jobs)-1]
}

// sbatch replaces sbatch with a shell script. The script finds the original in $REAL.
func (r *moveRig) sbatch(script string) {
	r.t.Helper()
	real := filepath.Join(strings.TrimPrefix(r.environ[1], "HOME="), "sbatch")
	dir := r.t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "sbatch"), []byte("#!/bin/sh\nREAL='"+real+"'\n"+script+"\n"), 0o755); err != nil {
		r.t.Fatal(err)
	}
	r.environ = append([]string{"PATH=" + dir + ":" + filepath.Dir(real) + ":/usr/bin:/bin"}, r.environ[1:]...)
}

// run migrates jobs and returns the output.
func (r *moveRig) run(ctx context.Context, ids ...string) (string, error) {
	r.t.Helper()
	var said bytes.Buffer
	getenv := func(name string) string {
		return map[string]string{"XDG_STATE_HOME": r.state, "HOME": engines.Variable(r.environ, "HOME")}[name]
	}
	a := &cli.App{
		Env:     cli.Env{Out: term.New(os.Stdout, getenv, time.Now()), Err: term.New(os.Stderr, getenv, time.Now()), Getenv: getenv, Environ: r.environ, UID: os.Getuid(), RestoreLimits: func() {}},
		Session: cli.Session{Client: &api.Client{Socket: r.socket}, Slurm: withSlurm},
		Noted:   map[string]bool{},
	}
	a.Out.W = bufio.NewWriter(&said)
	a.Err.W = a.Out.W
	err := (&feed.MigrateCmd{Move: engines.Move{To: "slurm", IDs: ids}}).Run(ctx, a)
	a.Out.W.Flush()
	r.t.Log(said.String())
	return said.String(), err
}

// stateOf returns a job's state here: held, queued or ended.
func (r *moveRig) stateOf(id job.ID) string {
	r.t.Helper()
	reply, err := api.Show(r.t.Context(), &api.Client{Socket: r.socket}, id.String(), api.JobQuery{})
	if err != nil {
		r.t.Fatal(err)
	}
	if reply.Job.State == job.Queued && reply.Job.HeldBy != "" {
		return "held"
	}
	return string(reply.Job.State)
}

// check compares the jobs' states here, and the number of jobs in Slurm.
func (r *moveRig) check(there int, want map[job.ID]string) {
	r.t.Helper()
	for _, id := range slices.Sorted(maps.Keys(want)) {
		if got := r.stateOf(id); got != want[id] {
			r.t.Errorf("job %d is %s, want %s", id, got, want[id])
		}
	}
	if got := len(slurmDir(strings.TrimPrefix(r.environ[1], "HOME=")).ids()); got != there {
		r.t.Errorf("Slurm has %d jobs, want %d", got, there)
	}
}

func (r *moveRig) says(said string, words ...string) {
	r.t.Helper()
	for _, w := range words {
		if !strings.Contains(said, w) {
			r.t.Errorf("it does not say %q", w)
		}
	}
}

// A job moves only together with the jobs that depend on it, since its end here would start or end
// those jobs.
func TestAJobMovesOnlyWithItsDependents(t *testing.T) {
	r := newMoveRig(t)
	me := os.Getuid()
	r.add(12, me)
	r.add(14, me, 12)
	r.add(20, me)
	r.add(21, me+1, 20)
	r.add(30, me)
	said, err := r.run(t.Context(), "12", "20", "30")
	r.says(said, "job 12 stays here: job 14, which waits for it, stays (move that job, too", "it belongs to bob", "job 30 is slurm:1")
	r.check(1, map[job.ID]string{12: "queued", 14: "queued", 20: "queued", 21: "queued", 30: "cancelled"})
	if err == nil {
		t.Error("it ends well")
	}
	if _, err := r.run(t.Context(), "12", "14"); err != nil {
		t.Error(err)
	}
	r.check(3, map[job.ID]string{12: "cancelled", 14: "cancelled"})
	said, err = r.run(t.Context(), "12") // as if the program had been killed between two cancellations
	if r.says(said, "job 12 is slurm:2"); err != nil {
		t.Error(err)
	}
}

// A job that Slurm refuses keeps waiting here, and the jobs that it depends on are not cancelled. A
// hold by its owner remains. The next run does not take the refusal for an interruption.
func TestRefusedJobsWait(t *testing.T) {
	r := newMoveRig(t)
	r.add(12, os.Getuid())
	r.add(14, os.Getuid(), 12)
	r.sbatch(`case "$*" in *dependency*) echo "sbatch: error: Batch job submission failed: Invalid qos" >&2; exit 1;; esac; exec $REAL "$@"`)
	said, _ := r.run(t.Context(), "12", "14")
	r.says(said, "job 14 stays here: Slurm's sbatch: Invalid qos", "job 12 is slurm:1 now, and is still here, held: job 14, which waits for it, stays")
	r.check(1, map[job.ID]string{12: "held", 14: "queued"})

	if _, err := api.ActOnJob(t.Context(), &api.Client{Socket: r.socket}, api.RouteHold, "14", nil); err != nil {
		t.Fatal(err)
	}
	r.sbatch(`exec $REAL "$@"`)
	if _, err := r.run(t.Context(), "12", "14"); err != nil {
		t.Error(err)
	}
	r.check(2, map[job.ID]string{12: "cancelled", 14: "cancelled"})
	if slurmDir(strings.TrimPrefix(r.environ[1], "HOME=")).fact("2", "held") == "" {
		t.Error("its owner's hold is undone")
	}
}

// If a failure happens before anything can have been submitted, the job keeps waiting here.
func TestJobsWaitHereWhileSlurmIsAway(t *testing.T) {
	r := newMoveRig(t)
	r.add(12, os.Getuid())
	good := r.environ
	r.sbatch(`echo "sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)" >&2; exit 1`)
	said, _ := r.run(t.Context(), "12")
	r.says(said, "job 12 stays here")
	r.check(0, map[job.ID]string{12: "queued"})
	r.environ = append([]string{"PATH=" + t.TempDir()}, good[1:]...)
	if said, _ = r.run(t.Context(), "12"); !strings.Contains(said, "job 12 stays here") || strings.Contains(said, "HELD") {
		t.Error("without programs of Slurm's it is another way")
	}
	r.check(0, map[job.ID]string{12: "queued"})
}

// If Slurm may have a job, the job is held here and the user is told. An error of squeue does not
// count as a refusal. The next run finds the job in Slurm.
func TestAJobThatSlurmMayHaveIsHeld(t *testing.T) {
	r := newMoveRig(t)
	r.add(12, os.Getuid())
	good := r.environ
	r.sbatch(`$REAL "$@" >&2; echo "sbatch: error: Unexpected message received" >&2; exit 1`)
	said, _ := r.run(t.Context(), "12")
	r.says(said, "job 12 is HELD here, as Slurm may have it", "'gpusched release 12'")
	r.check(1, map[job.ID]string{12: "held"})

	dir := t.TempDir()
	script := "#!/bin/sh\necho 'slurm_load_jobs error: Invalid user id, over the limit' >&2; exit 1\n"
	if err := os.WriteFile(filepath.Join(dir, "squeue"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	r.environ = append([]string{"PATH=" + dir + ":" + strings.TrimPrefix(good[0], "PATH=")}, good[1:]...)
	said, _ = r.run(t.Context(), "12")
	r.says(said, "job 12 is HELD here, as Slurm may have it: Slurm's squeue")
	r.check(1, map[job.ID]string{12: "held"})

	r.environ = good
	if said, err := r.run(t.Context(), "12"); err != nil || !strings.Contains(said, "job 12 is slurm:1") {
		t.Error(err)
	}
	r.check(1, map[job.ID]string{12: "cancelled"})
}

// The next run submits a job that Slurm does not have. If the job was for another cluster, it is
// not submitted.
func TestTheNextRunSubmitsWhatIsNotInSlurm(t *testing.T) {
	r := newMoveRig(t)
	r.add(12, os.Getuid())
	good := r.environ
	r.sbatch(`echo "sbatch: error: Unexpected message received" >&2; exit 1`)
	_, _ = r.run(t.Context(), "12")
	r.check(0, map[job.ID]string{12: "held"})
	r.environ = good
	if said, err := r.run(t.Context(), "12"); err != nil || !strings.Contains(said, "job 12 is slurm:1") {
		t.Error(err)
	}
	r.check(1, map[job.ID]string{12: "cancelled"})
}

// An interrupted run releases the jobs that it has not submitted. It names the job that Slurm may
// or may not have.
func TestAnInterruptedMigrateReleasesJobs(t *testing.T) {
	r := newMoveRig(t)
	for id := job.ID(12); id < 15; id++ {
		r.add(id, os.Getuid())
	}
	ctx, end := context.WithCancel(t.Context())
	defer end()
	begun := filepath.Join(t.TempDir(), "begun")
	r.sbatch(`case "$*" in *.13.*) : >` + begun + `; exec sleep 60;; esac; exec $REAL "$@"`)
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(begun); err == nil {
				end()
			}
		}
	}()
	said, err := r.run(ctx, "12", "13", "14")
	if !errors.Is(err, context.Canceled) || strings.Contains(said, "job 14") {
		t.Error(err)
	}
	r.says(said, "job 12 is slurm:1\n", "job 13 is HELD here, as Slurm may have it: the command was interrupted")
	r.check(1, map[job.ID]string{12: "cancelled", 13: "held", 14: "queued"})
}

// If a dependent job is added between the check and the cancellation, the daemon does not cancel
// the first job, so the dependent job is not ended. Once the dependent job has ended, the same
// command completes the move of the first job.
func TestALateDependentIsNotEnded(t *testing.T) {
	r := newMoveRig(t)
	r.add(12, os.Getuid())
	came := false
	r.arrives = func(c job.Command) {
		if c.Kind == job.CommandCancel && !came {
			came = true
			r.add(20, 1002, 12)
		}
	}
	said, err := r.run(t.Context(), "12")
	if err == nil {
		t.Error("all is well")
	}
	r.says(said, "job 12 is slurm:1 now, and is still here, held: job 20 waits for job 12", "run the same command again")
	r.check(1, map[job.ID]string{12: "held", 20: "queued"})
	r.backend.End(20, job.Result{Outcome: job.Cancelled})
	if _, err := r.run(t.Context(), "12"); err != nil {
		t.Error(err)
	}
	r.check(1, map[job.ID]string{12: "cancelled"})
}

// A comment that is too long for Slurm is shortened.
func TestLongCommentIsCut(t *testing.T) {
	long := strings.Repeat("ü", job.MaxCommentBytes/2)
	r := newMoveRig(t)
	r.add(12, os.Getuid()).Label.Comment = long
	r.sbatch(`echo 7`)
	if _, err := r.run(t.Context(), "12"); err != nil {
		t.Error(err)
	}
	r.check(0, map[job.ID]string{12: "cancelled"})
	for _, d := range r.backend.Commands() {
		if c := d.Command.Change; c != nil && !strings.HasPrefix(fmt.Sprint(*c.Comment), "moved to slurm:7; ü") {
			t.Errorf("%q", *c.Comment)
		}
	}
}
